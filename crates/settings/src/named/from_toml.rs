use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Number, Value};
use toml::de::{DeInteger, DeTable, DeValue};

use super::document::{Document, Places, Table};
use crate::lines::Lines;

/// The named tables of the file. One that is no table is left to be reported as such.
pub(crate) fn documents(path: &Path, file: &DeTable<'_>, lines: &Lines<'_>) -> Vec<Document> {
    let of_file = |table: Table| {
        let (name, value) = file.get_key_value(table.key())?;
        let value = value.get_ref();
        if !(value.is_table() || value.is_array()) {
            return None;
        }
        let mut walk = Walk { lines, found: BTreeMap::new(), path: Vec::new() };
        walk.found.insert(Vec::new(), lines.line(name.span().start));
        let value = walk.json(value);
        let places = Places::File { path: path.to_owned(), lines: walk.found };
        Some(Document { table, value, places })
    };
    Table::ALL.into_iter().filter_map(of_file).collect()
}

/// Turns TOML into JSON and keeps the lines, which JSON has no room for.
struct Walk<'text> {
    lines: &'text Lines<'text>,
    found: BTreeMap<Vec<String>, usize>,
    path: Vec<String>,
}

impl Walk<'_> {
    fn json(&mut self, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::from(text.as_ref()),
            DeValue::Boolean(word) => Value::from(*word),
            DeValue::Integer(number) => integer(number),
            DeValue::Float(number) => float(number.as_str()),
            DeValue::Datetime(time) => Value::from(time.to_string()),
            DeValue::Array(items) => {
                let items = items.iter().enumerate();
                let below = |(at, item): (usize, &toml::Spanned<DeValue<'_>>)| {
                    self.below(&at.to_string(), item.span().start, item.get_ref())
                };
                items.map(below).collect()
            }
            DeValue::Table(table) => {
                let mut members = Map::new();
                for (name, value) in table {
                    let json = self.below(name.get_ref(), name.span().start, value.get_ref());
                    members.insert(name.get_ref().to_string(), json);
                }
                Value::Object(members)
            }
        }
    }

    fn below(&mut self, name: &str, offset: usize, value: &DeValue<'_>) -> Value {
        self.path.push(name.to_owned());
        self.found.insert(self.path.clone(), self.lines.line(offset));
        let json = self.json(value);
        self.path.pop();
        json
    }
}

/// What JSON has no number for stays text, which no parser takes for a number.
fn integer(number: &DeInteger<'_>) -> Value {
    i64::from_str_radix(number.as_str(), number.radix())
        .map_or_else(|_| Value::from(number.to_string()), Value::from)
}

fn float(text: &str) -> Value {
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| Value::from(text), Value::Number)
}
