//! Reads settings from a TOML file.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::declaration::{Declaration, is_group};
use crate::error::Problem;
use crate::given::{Found, Given, Origin};
use crate::lines::Lines;
use crate::named::{self, Table};
use crate::nearest::{nearest, nearest_table};

pub(crate) fn read(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Found {
    let lines = Lines::new(text);
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            let (line, column) = lines.position(error.span().map_or(0, |span| span.start));
            let message = error.message().to_owned();
            problems.push(Problem::Syntax { path: path.to_owned(), line, column, message });
            return Found::default();
        }
    };

    let mut entries = Vec::new();
    collect_entries(&table, "", &mut entries);
    // The parser sorts tables by name; problems are reported from the top of the file.
    entries.sort_by_key(|entry| entry.offset);

    let mut given = Vec::new();
    for entry in entries {
        let origin = Origin::File { path: path.to_owned(), line: lines.line(entry.offset) };
        given.extend(entry.check(text, origin, problems));
    }
    Found { given, documents: named::from_file(path, &table, &lines) }
}

struct Entry<'table> {
    key: String,
    offset: usize,
    value: &'table Spanned<DeValue<'table>>,
}

impl Entry<'_> {
    fn check(self, text: &str, origin: Origin, problems: &mut Vec<Problem>) -> Option<Given> {
        let value = self.to_text(text);
        let Some(declaration) = Declaration::find(&self.key) else {
            let name = self.key;
            problems.push(match is_group(&name) || Table::find(&name).is_some() {
                true => Problem::NotATable { name, value, origin },
                false => Problem::Unknown { nearest: nearest_key(&name), name, value, origin },
            });
            return None;
        };
        let given = Given { key: declaration.key, value, origin };
        if fits(declaration, self.value.get_ref()) {
            Some(given)
        } else {
            problems.push(Problem::BadValue { given, expected: declaration.expected.clone() });
            None
        }
    }

    /// The value as a flag would have it: strings without quotes, numbers in decimal, lists with commas.
    fn to_text(&self, text: &str) -> String {
        match self.value.get_ref() {
            DeValue::String(string) => string.to_string(),
            DeValue::Array(items) if is_strings(items) => {
                let items: Vec<_> =
                    items.iter().filter_map(|item| item.get_ref().as_str()).collect();
                items.join(",")
            }
            DeValue::Boolean(boolean) => boolean.to_string(),
            DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| number.to_string(), |number| number.to_string()),
            _ => text.get(self.value.span()).unwrap_or_default().to_owned(),
        }
    }
}

/// Descends through tables to every key that is a setting or cannot contain one. Named tables are read
/// elsewhere.
fn collect_entries<'table>(
    table: &'table DeTable<'table>,
    parent: &str,
    entries: &mut Vec<Entry<'table>>,
) {
    for (name, value) in table {
        let key = format!("{parent}{}", quote_key(name.get_ref()));
        match value.get_ref() {
            DeValue::Table(_) | DeValue::Array(_) if Table::find(&key).is_some() => {}
            DeValue::Table(inner) if has_entries(&key, inner) => {
                collect_entries(inner, &format!("{key}."), entries);
            }
            _ => entries.push(Entry { key, offset: name.span().start, value }),
        }
    }
}

/// An empty table with an unknown name is an entry itself, so that the name is reported.
fn has_entries(key: &str, inner: &DeTable<'_>) -> bool {
    Declaration::find(key).is_none() && (is_group(key) || !inner.is_empty())
}

/// For a dotted name, a misspelled setting is likelier than a misspelled table.
fn nearest_key(name: &str) -> Option<String> {
    let setting = nearest(name).map(|declaration| declaration.key.to_owned());
    match name.split_once('.') {
        None => nearest_table(name).map(|table| table.key().to_owned()).or(setting),
        Some((first, rest)) => {
            setting.or_else(|| Some(format!("{}.{rest}", nearest_table(first)?.key())))
        }
    }
}

/// Quotes a key where TOML needs it: `"log.level"` is not `log.level`.
pub(crate) fn quote_key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { format!("{name:?}") }
}

/// Whether a TOML value of this type can be the setting's; its kind checks the rest.
fn fits(declaration: &Declaration, value: &DeValue<'_>) -> bool {
    match value {
        DeValue::String(_) => true,
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => !declaration.text_only,
        DeValue::Array(items) => declaration.list && is_strings(items),
        _ => false,
    }
}

fn is_strings(items: &DeArray<'_>) -> bool {
    items.iter().all(|item| item.get_ref().is_str())
}
