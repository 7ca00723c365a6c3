use std::collections::BTreeMap;

use rota_model::Rejection;
use serde_json::{Map, Value};

use super::document::Document;
use super::things::{Thing, complaint};
use crate::error::Problem;
use crate::given::Origin;
use crate::nearest::closest;

/// A thing with the way it was written and the place.
pub(super) struct Placed<T> {
    pub thing: T,
    pub written: String,
    pub origin: Origin,
}

/// Reads a table of things: an object with their names, or an array of things that carry theirs.
pub(super) fn read<T: Thing>(
    document: &Document,
    problems: &mut Vec<Problem>,
) -> BTreeMap<T::Name, Placed<T>> {
    let mut things = BTreeMap::new();
    let entries: Vec<(String, &Value)> = match &document.value {
        Value::Object(entries) => entries.iter().map(|(name, it)| (name.clone(), it)).collect(),
        Value::Array(items) => (0..).map(|at: usize| at.to_string()).zip(items).collect(),
        _ => {
            problems.push(document.problem(&[], "must be a table of names"));
            return things;
        }
    };
    for (below, value) in entries {
        let entry = Entry::find::<T>(document, below, value);
        match entry.and_then(|entry| entry.read::<T>(document)) {
            Ok((name, placed)) if things.contains_key(&name) => problems.push(Problem::Entry {
                origin: placed.origin,
                message: format!("{} has {name} twice", document.name(&[])),
                hint: None,
            }),
            Ok((name, placed)) => {
                things.insert(name, placed);
            }
            Err(found) => problems.extend(found),
        }
    }
    things
}

struct Entry {
    path: Vec<String>,
    name: String,
    members: Map<String, Value>,
}

impl Entry {
    /// `below` is its name, or its number in an array.
    fn find<T: Thing>(
        document: &Document,
        below: String,
        value: &Value,
    ) -> Result<Self, Vec<Problem>> {
        let path = vec![below.clone()];
        let Value::Object(members) = value else {
            let problem = format!("must be a table with the fields of {}", T::WHAT);
            return Err(vec![document.problem(&path, &problem)]);
        };
        let mut members = members.clone();
        let name = match (members.remove(T::NAME), document.value.is_array()) {
            (None, false) => below,
            (Some(Value::String(name)), false) if name == below => below,
            (Some(Value::String(name)), true) => name,
            (_, true) => {
                let problem = format!("needs its {}", T::NAME);
                return Err(vec![document.problem(&path, &problem)]);
            }
            (Some(_), false) => {
                let problem = "must be the name of the table it stands in";
                return Err(vec![document.problem(&below_it(&path, [T::NAME]), problem)]);
            }
        };
        Ok(Self { path, name, members })
    }

    /// Names that nobody knows are all reported; of the values, the first that is wrong.
    fn read<T: Thing>(self, document: &Document) -> Result<(T::Name, Placed<T>), Vec<Problem>> {
        let name = T::name(&self.name).map_err(|error| {
            let problem = format!("is no name of {}: it {error}", T::WHAT);
            vec![document.problem(&self.path, &problem)]
        })?;
        let unknown = self.unknown_fields::<T>(document);
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let thing = T::parse(&self.members)
            .map_err(|rejection| vec![self.rejected(document, &rejection)])?;
        let origin = document.origin(&self.path);
        let written = Value::Object(self.members).to_string();
        Ok((name, Placed { thing, written, origin }))
    }

    fn unknown_fields<T: Thing>(&self, document: &Document) -> Vec<Problem> {
        let strangers = |members: &Map<String, Value>, path: &[String]| -> Vec<Problem> {
            let unknown = members.iter().filter(|(field, _)| !T::FIELDS.contains(&field.as_str()));
            let problem = |(field, value): (&String, &Value)| {
                let nearest = closest(field, T::FIELDS.iter().copied());
                document.unknown(&below_it(path, [field]), value, nearest)
            };
            unknown.map(problem).collect()
        };
        let mut problems = strangers(&self.members, &self.path);
        // Nothing but a tenant has a field of this name.
        if let Some(Value::Object(limits)) = self.members.get(LIMITS)
            && T::FIELDS.contains(&LIMITS)
        {
            problems.extend(strangers(limits, &below_it(&self.path, [LIMITS])));
        }
        problems
    }

    /// The model calls a field the same inside `limits` and beside it.
    fn rejected(&self, document: &Document, rejection: &Rejection) -> Problem {
        let (field, problem) = complaint(rejection);
        let direct = below_it(&self.path, field.split('.'));
        let in_limits = below_it(&self.path, [LIMITS].into_iter().chain(field.split('.')));
        let path = document.further(direct, in_limits);
        Problem::Entry {
            origin: document.origin(&path),
            message: format!("{} {problem}", document.name(&path)),
            hint: rejection.hint.as_deref().map(ToOwned::to_owned),
        }
    }
}

const LIMITS: &str = "limits";

fn below_it<'name, Name: AsRef<str> + ?Sized + 'name>(
    path: &[String],
    names: impl IntoIterator<Item = &'name Name>,
) -> Vec<String> {
    let names = names.into_iter().map(|name| name.as_ref().to_owned());
    path.iter().cloned().chain(names).collect()
}
