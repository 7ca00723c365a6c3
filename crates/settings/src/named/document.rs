//! Named tables of the settings file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::declaration::environment_name;
use crate::error::Problem;
use crate::file::quote_key;
use crate::given::Origin;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Tenants,
    Pools,
    RateLimits,
    ReplayRules,
    Certificates,
    TenantFairness,
}

impl Table {
    pub(crate) const ALL: [Self; 6] = [
        Self::Tenants,
        Self::Pools,
        Self::RateLimits,
        Self::ReplayRules,
        Self::Certificates,
        Self::TenantFairness,
    ];

    /// Its name in the file.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Tenants => "tenants",
            Self::Pools => "pools",
            Self::RateLimits => "rate_limits",
            Self::ReplayRules => "replay_rules",
            Self::Certificates => "certificates",
            Self::TenantFairness => "tenant_fairness",
        }
    }

    pub(crate) fn environment(self) -> String {
        environment_name(self.key())
    }

    pub(crate) fn find(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.key() == key)
    }
}

/// One table from one source. Paths into it start below the table.
pub(crate) struct Document {
    pub table: Table,
    pub value: Value,
    pub source: Source,
}

pub(crate) enum Source {
    /// The variable's name.
    Variable(String),
    /// `lines` has the line of every path.
    File { path: PathBuf, lines: BTreeMap<Vec<String>, usize> },
}

impl Document {
    /// Where a path is written; one that is not has the origin of its nearest parent.
    pub(super) fn origin(&self, path: &[String]) -> Origin {
        match &self.source {
            Source::Variable(name) => Origin::Environment(name.clone()),
            Source::File { path: file, lines } => {
                let line = lines.get(&path[..self.written(path)]).copied().unwrap_or(1);
                Origin::File { path: file.clone(), line }
            }
        }
    }

    /// The second path if it is written further than the first.
    pub(super) fn further(&self, first: Vec<String>, second: Vec<String>) -> Vec<String> {
        if self.written(&second) > self.written(&first) + 1 { second } else { first }
    }

    /// How many parts of the path are written.
    fn written(&self, path: &[String]) -> usize {
        let mut value = &self.value;
        let exists = |part: &&String| {
            let next = match value {
                Value::Array(items) => part.parse::<usize>().ok().and_then(|n| items.get(n)),
                other => other.get(part.as_str()),
            };
            next.map(|next| value = next).is_some()
        };
        path.iter().take_while(exists).count()
    }

    pub(super) fn name(&self, path: &[String]) -> String {
        let mut name = self.table.key().to_owned();
        for part in path {
            name.push('.');
            name.push_str(&quote_key(part));
        }
        name
    }

    /// `problem` completes a sentence that starts with the path.
    pub(super) fn problem(&self, path: &[String], problem: &str) -> Problem {
        Problem::Entry {
            origin: self.origin(path),
            message: format!("{} {problem}", self.name(path)),
            hint: None,
        }
    }

    /// `nearest` is a name that could take the place of the path's last part.
    pub(super) fn unknown(&self, path: &[String], value: &Value, nearest: Option<&str>) -> Problem {
        let sibling = |name: &str| {
            let parent = path.split_last().map_or(&[][..], |(_, parent)| parent);
            self.name(&[parent, &[name.to_owned()]].concat())
        };
        Problem::Unknown {
            name: self.name(path),
            value: value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned),
            origin: self.origin(path),
            nearest: nearest.map(sibling),
        }
    }
}
