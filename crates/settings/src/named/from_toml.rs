use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Number, Value};
use toml::de::{DeInteger, DeTable, DeValue};

use super::document::{Document, Source, Table};
use crate::lines::Lines;

/// The named tables of the file. A value that is neither table nor array is reported with the settings.
pub(crate) fn from_file(path: &Path, file: &DeTable<'_>, lines: &Lines<'_>) -> Vec<Document> {
    let document = |table: Table| {
        let (name, value) = file.get_key_value(table.key())?;
        let value = value.get_ref();
        if !(value.is_table() || value.is_array()) {
            return None;
        }
        let mut converter = Converter { lines, found: BTreeMap::new(), path: Vec::new() };
        converter.found.insert(Vec::new(), lines.line(name.span().start));
        let value = converter.convert(value);
        let source = Source::File { path: path.to_owned(), lines: converter.found };
        Some(Document { table, value, source })
    };
    Table::ALL.into_iter().filter_map(document).collect()
}

/// Converts TOML to JSON and keeps line numbers. Not by serde, which drops them and makes NaN null.
struct Converter<'text> {
    lines: &'text Lines<'text>,
    found: BTreeMap<Vec<String>, usize>,
    path: Vec<String>,
}

impl Converter<'_> {
    fn convert(&mut self, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::from(text.as_ref()),
            DeValue::Boolean(boolean) => Value::from(*boolean),
            DeValue::Integer(number) => integer(number),
            DeValue::Float(number) => float(number.as_str()),
            DeValue::Datetime(time) => Value::from(time.to_string()),
            DeValue::Array(items) => (0..)
                .zip(items.iter())
                .map(|(index, item): (usize, _)| {
                    self.child(&index.to_string(), item.span().start, item.get_ref())
                })
                .collect(),
            DeValue::Table(table) => {
                let mut members = Map::new();
                for (name, value) in table {
                    let json = self.child(name.get_ref(), name.span().start, value.get_ref());
                    members.insert(name.get_ref().to_string(), json);
                }
                Value::Object(members)
            }
        }
    }

    fn child(&mut self, name: &str, offset: usize, value: &DeValue<'_>) -> Value {
        self.path.push(name.to_owned());
        self.found.insert(self.path.clone(), self.lines.line(offset));
        let json = self.convert(value);
        self.path.pop();
        json
    }
}

/// Numbers that JSON does not have stay text, which the model rejects as not a number.
fn integer(number: &DeInteger<'_>) -> Value {
    i64::from_str_radix(number.as_str(), number.radix())
        .map_or_else(|_| Value::from(number.to_string()), Value::from)
}

fn float(text: &str) -> Value {
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| Value::from(text), Value::Number)
}
