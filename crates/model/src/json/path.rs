//! Naming a place in a JSON text, for error messages.

use super::door::unescaped;

/// The most characters of a path.
const LONGEST: usize = 150;

enum Open<'a> {
    /// An object, and the key whose value is being read.
    Object(&'a str),
    /// An array, and the index of the element that is being read.
    Array(usize),
}

/// The path of the value at `position`, such as `args[0].to`. `key` stands for the key of the innermost
/// object.
pub(super) fn path_at(text: &str, position: usize, key: Option<&str>) -> String {
    let mut open = open_at(text, position);
    if let (Some(Open::Object(last)), Some(key)) = (open.last_mut(), key) {
        *last = key;
    }
    path_to(&open)
}

fn path_to(open: &[Open<'_>]) -> String {
    let mut path = String::new();
    for part in open {
        match part {
            Open::Array(index) => path.push_str(&format!("[{index}]")),
            Open::Object("") => {}
            Open::Object(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&unescaped(key));
            }
        }
    }
    if path.chars().count() > LONGEST {
        path = path.chars().take(LONGEST).chain(['…']).collect();
    }
    path
}

/// The path of the value that serde could not use, or of the member that it misses.
#[must_use]
pub fn path_of_error(text: &str, error: &serde_json::Error) -> String {
    let message = error.to_string();
    if let Some((name, _)) =
        message.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'))
    {
        return name.to_owned();
    }
    path_at(text, position_of(text, error), None)
}

/// The path of the object that has a member which serde does not know; empty at the top level.
#[must_use]
pub fn path_of_owner(text: &str, error: &serde_json::Error) -> String {
    let mut open = open_at(text, position_of(text, error));
    open.pop();
    path_to(&open)
}

fn position_of(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let position = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
    position.min(text.len())
}

/// The objects and arrays that are open at this position, outermost first.
fn open_at(text: &str, position: usize) -> Vec<Open<'_>> {
    let bytes = text.as_bytes();
    let (mut open, mut at, mut last_string) = (Vec::new(), 0, "");
    while at < position {
        match bytes[at] {
            b'"' => {
                let start = at + 1;
                at = start;
                while at < position && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                last_string = text.get(start..at).unwrap_or_default();
            }
            b'{' => open.push(Open::Object("")),
            b'[' => open.push(Open::Array(0)),
            b'}' | b']' => drop(open.pop()),
            b':' => {
                if let Some(Open::Object(key)) = open.last_mut() {
                    *key = last_string;
                }
            }
            b',' => match open.last_mut() {
                Some(Open::Array(index)) => *index += 1,
                Some(Open::Object(key)) => *key = "",
                None => {}
            },
            _ => {}
        }
        at += 1;
    }
    open
}
