use std::path::Path;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::declaration::{Declaration, declarations};
use crate::error::Problem;
use crate::given::{Found, Given, Origin};
use crate::lines::Lines;
use crate::named::{self, Table};
use crate::nearest::{nearest, nearest_table};

pub(crate) fn read(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Found {
    let lines = Lines::of(text);
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            problems.push(syntax_problem(path, &lines, &error));
            return Found::default();
        }
    };

    let mut entries = Vec::new();
    collect_entries(&table, "", &mut entries);
    // The parser sorts tables by name; people read their file from the top.
    entries.sort_by_key(|entry| entry.offset);

    let mut given = Vec::new();
    for entry in entries {
        let origin = Origin::File { path: path.to_owned(), line: lines.line(entry.offset) };
        given.extend(entry.judge(text, origin, problems));
    }
    Found { given, documents: named::documents(path, &table, &lines) }
}

struct Entry<'table> {
    key: String,
    offset: usize,
    value: &'table Spanned<DeValue<'table>>,
}

impl Entry<'_> {
    fn judge(self, text: &str, origin: Origin, problems: &mut Vec<Problem>) -> Option<Given> {
        let value = self.written(text);
        let Some(declaration) = declared(&self.key) else {
            problems.push(self.unknown(value, origin));
            return None;
        };
        let given = Given { key: declaration.key, value, origin };
        if fits(declaration, self.value.get_ref()) {
            Some(given)
        } else {
            let expected = declaration.expected.clone();
            problems.push(Problem::BadValue { given, expected });
            None
        }
    }

    fn unknown(self, value: String, origin: Origin) -> Problem {
        let name = self.key;
        if is_group(&name) || Table::called(&name).is_some() {
            return Problem::NotATable { name, value, origin };
        }
        Problem::Unknown { nearest: nearest_key(&name), name, value, origin }
    }

    /// The value as a flag would carry it: strings without quotes, numbers in decimal, lists of
    /// words with commas.
    fn written(&self, text: &str) -> String {
        match self.value.get_ref() {
            DeValue::String(string) => string.to_string(),
            DeValue::Array(items) if is_words(items) => {
                let words: Vec<_> =
                    items.iter().filter_map(|item| item.get_ref().as_str()).collect();
                words.join(",")
            }
            DeValue::Boolean(word) => word.to_string(),
            DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| number.to_string(), |number| number.to_string()),
            _ => text.get(self.value.span()).unwrap_or_default().to_owned(),
        }
    }
}

/// Goes down through tables until it reaches something that is a setting or can be none.
fn collect_entries<'table>(
    table: &'table DeTable<'table>,
    above: &str,
    entries: &mut Vec<Entry<'table>>,
) {
    for (name, value) in table {
        let key = format!("{above}{}", segment(name.get_ref()));
        match value.get_ref() {
            DeValue::Table(inner) if Table::called(&key).is_none() && goes_deeper(&key, inner) => {
                collect_entries(inner, &format!("{key}."), entries);
            }
            DeValue::Table(_) | DeValue::Array(_) if Table::called(&key).is_some() => {}
            _ => entries.push(Entry { key, offset: name.span().start, value }),
        }
    }
}

/// An empty table of an unknown name is an entry itself, or nobody would hear of the name.
fn goes_deeper(key: &str, inner: &DeTable<'_>) -> bool {
    declared(key).is_none() && (is_group(key) || !inner.is_empty())
}

/// A dotted name is a setting's more likely than that of something inside a mistyped table.
fn nearest_key(name: &str) -> Option<String> {
    let setting = nearest(name).map(|declaration| declaration.key.to_owned());
    match name.split_once('.') {
        None => nearest_table(name).map(|table| table.key().to_owned()).or(setting),
        Some((first, rest)) => {
            setting.or_else(|| Some(format!("{}.{rest}", nearest_table(first)?.key())))
        }
    }
}

/// A quoted name stays quoted, or `"log.level"` would pass for `log.level`.
pub(crate) fn segment(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { format!("{name:?}") }
}

fn declared(key: &str) -> Option<&'static Declaration> {
    declarations().iter().find(|declaration| declaration.key == key)
}

fn is_group(name: &str) -> bool {
    declarations()
        .iter()
        .filter_map(|declaration| declaration.key.split_once('.'))
        .any(|(group, _)| group == name)
}

/// Whether TOML's own type can carry this setting; the setting's kind checks the rest.
fn fits(declaration: &Declaration, value: &DeValue<'_>) -> bool {
    match value {
        DeValue::String(_) => true,
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => !declaration.text_only,
        DeValue::Array(items) => declaration.list && is_words(items),
        _ => false,
    }
}

fn is_words(items: &DeArray<'_>) -> bool {
    items.iter().all(|item| item.get_ref().is_str())
}

fn syntax_problem(path: &Path, lines: &Lines<'_>, error: &toml::de::Error) -> Problem {
    let (line, column) = lines.position(error.span().map_or(0, |span| span.start));
    Problem::Syntax { path: path.to_owned(), line, column, message: error.message().to_owned() }
}
