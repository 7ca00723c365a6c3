use std::collections::BTreeMap;

use rota_model::Rejection;
use serde_json::{Map, Value};

use super::config::{NamedConfig, field_and_problem};
use super::document::Document;
use crate::error::Problem;
use crate::given::Origin;

/// A parsed value with its text and where it comes from.
pub(super) struct Located<T> {
    pub value: T,
    pub text: String,
    pub origin: Origin,
}

/// Reads an object of entries by name, or an array of entries that have a field with their name.
pub(super) fn read<T: NamedConfig>(
    document: &Document,
    problems: &mut Vec<Problem>,
) -> BTreeMap<T::Name, Located<T>> {
    let mut configs = BTreeMap::new();
    let entries: Vec<(String, &Value)> = match &document.value {
        Value::Object(entries) => entries.iter().map(|(name, it)| (name.clone(), it)).collect(),
        Value::Array(items) => (0..).map(|index: usize| index.to_string()).zip(items).collect(),
        _ => {
            problems.push(document.problem(&[], "must be a table of names"));
            return configs;
        }
    };
    for (key, value) in entries {
        let entry = Entry::find::<T>(document, key, value);
        match entry.and_then(|entry| entry.parse::<T>(document)) {
            Ok((name, config)) if configs.contains_key(&name) => problems.push(Problem::Entry {
                origin: config.origin,
                message: format!("{} has {name} twice", document.name(&[])),
                hint: None,
            }),
            Ok((name, config)) => {
                configs.insert(name, config);
            }
            Err(found) => problems.extend(found),
        }
    }
    configs
}

struct Entry {
    path: Vec<String>,
    name: String,
    members: Map<String, Value>,
}

impl Entry {
    /// `key` is the entry's name, or its index in an array.
    fn find<T: NamedConfig>(
        document: &Document,
        key: String,
        value: &Value,
    ) -> Result<Self, Vec<Problem>> {
        let path = vec![key.clone()];
        let Value::Object(members) = value else {
            let problem = format!("must be a table with the fields of a {}", T::NOUN);
            return Err(vec![document.problem(&path, &problem)]);
        };
        let mut members = members.clone();
        let name = match (members.remove(T::NAME_FIELD), document.value.is_array()) {
            (None, false) => key,
            (Some(Value::String(name)), false) if name == key => key,
            (Some(Value::String(name)), true) => name,
            (_, true) => {
                let problem = format!("needs a field {}", T::NAME_FIELD);
                return Err(vec![document.problem(&path, &problem)]);
            }
            (Some(_), false) => {
                let path = join(&path, [T::NAME_FIELD]);
                return Err(vec![document.problem(&path, "must be the name of its table")]);
            }
        };
        Ok(Self { path, name, members })
    }

    /// Reports all unknown fields, or else the first bad value.
    fn parse<T: NamedConfig>(
        self,
        document: &Document,
    ) -> Result<(T::Name, Located<T>), Vec<Problem>> {
        let name = self.name.parse().map_err(|error| {
            let problem = format!("is not a valid name of a {}: it {error}", T::NOUN);
            vec![document.problem(&self.path, &problem)]
        })?;
        let unknown = self.unknown_fields::<T>(document);
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let value = T::parse(&self.members)
            .map_err(|rejection| vec![self.rejected(document, &rejection)])?;
        let origin = document.origin(&self.path);
        let text = Value::Object(self.members).to_string();
        Ok((name, Located { value, text, origin }))
    }

    fn unknown_fields<T: NamedConfig>(&self, document: &Document) -> Vec<Problem> {
        let unknown_in = |members: &Map<String, Value>, path: &[String]| -> Vec<Problem> {
            let unknown = members.iter().filter(|(field, _)| !T::FIELDS.contains(&field.as_str()));
            let problem = |(field, value): (&String, &Value)| {
                let nearest = rota_model::nearest(field, T::FIELDS.iter().copied());
                document.unknown(&join(path, [field]), value, nearest)
            };
            unknown.map(problem).collect()
        };
        let mut problems = unknown_in(&self.members, &self.path);
        // Only tenants have this field.
        if let Some(Value::Object(limits)) = self.members.get(LIMITS)
            && T::FIELDS.contains(&LIMITS)
        {
            problems.extend(unknown_in(limits, &join(&self.path, [LIMITS])));
        }
        problems
    }

    /// The model has the same name for a field inside `limits` and beside it.
    fn rejected(&self, document: &Document, rejection: &Rejection) -> Problem {
        let (field, problem) = field_and_problem(rejection);
        let direct = join(&self.path, field.split('.'));
        let in_limits = join(&self.path, [LIMITS].into_iter().chain(field.split('.')));
        let path = document.further(direct, in_limits);
        Problem::Entry {
            origin: document.origin(&path),
            message: format!("{} {problem}", document.name(&path)),
            hint: rejection.hint.as_deref().map(ToOwned::to_owned),
        }
    }
}

const LIMITS: &str = "limits";

fn join<'name, Name: AsRef<str> + ?Sized + 'name>(
    path: &[String],
    names: impl IntoIterator<Item = &'name Name>,
) -> Vec<String> {
    let names = names.into_iter().map(|name| name.as_ref().to_owned());
    path.iter().cloned().chain(names).collect()
}
