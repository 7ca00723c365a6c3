use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::declaration::environment_name;
use crate::error::Problem;
use crate::file::segment;
use crate::given::Origin;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Tenants,
    Pools,
    RateLimits,
    TenantFairness,
}

impl Table {
    pub(crate) const ALL: [Self; 4] =
        [Self::Tenants, Self::Pools, Self::RateLimits, Self::TenantFairness];

    /// Its name in the file.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Tenants => "tenants",
            Self::Pools => "pools",
            Self::RateLimits => "rate_limits",
            Self::TenantFairness => "tenant_fairness",
        }
    }

    pub(crate) fn environment(self) -> String {
        environment_name(self.key())
    }

    pub(crate) fn called(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.key() == key)
    }
}

/// What one source says in one table.
pub(crate) struct Document {
    pub table: Table,
    pub value: Value,
    pub places: Places,
}

/// Where the parts of a document were written.
pub(crate) enum Places {
    Variable(String),
    File { path: PathBuf, lines: BTreeMap<Vec<String>, usize> },
}

impl Document {
    /// The path starts below the table; what has no place itself stands where its parent does.
    pub(super) fn origin(&self, path: &[String]) -> Origin {
        match &self.places {
            Places::Variable(name) => Origin::Environment(name.clone()),
            Places::File { path: file, lines } => {
                let line = lines.get(&path[..self.reach(path)]).copied().unwrap_or(1);
                Origin::File { path: file.clone(), line }
            }
        }
    }

    /// Of two ways to a part, the one along which more is written.
    pub(super) fn further(&self, one: Vec<String>, other: Vec<String>) -> Vec<String> {
        if self.reach(&other) > self.reach(&one) + 1 { other } else { one }
    }

    /// How much of the path leads to something that is written.
    fn reach(&self, path: &[String]) -> usize {
        let mut at = &self.value;
        let step = |part: &&String| {
            let next = match at {
                Value::Array(items) => part.parse().ok().and_then(|it: usize| items.get(it)),
                other => other.get(part.as_str()),
            };
            next.map(|next| at = next).is_some()
        };
        path.iter().take_while(step).count()
    }

    pub(super) fn name(&self, path: &[String]) -> String {
        let mut name = self.table.key().to_owned();
        for part in path {
            name.push('.');
            name.push_str(&segment(part));
        }
        name
    }

    /// A problem with the part at this path, as the rest of a sentence that begins with its name.
    pub(super) fn problem(&self, path: &[String], problem: &str) -> Problem {
        Problem::Entry {
            origin: self.origin(path),
            message: format!("{} {problem}", self.name(path)),
            hint: None,
        }
    }

    /// `nearest` stands beside the part that nobody knows.
    pub(super) fn unknown(&self, path: &[String], value: &Value, nearest: Option<&str>) -> Problem {
        let beside = |name: &str| {
            let above = path.split_last().map_or(&[][..], |(_, above)| above);
            self.name(&[above, &[name.to_owned()]].concat())
        };
        Problem::Unknown {
            name: self.name(path),
            value: text_of(value),
            origin: self.origin(path),
            nearest: nearest.map(beside),
        }
    }
}

/// A string without its quotes, everything else as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}
