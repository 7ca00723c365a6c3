//! Problems with settings, each with the place where it was found.

use std::fmt::Write;
use std::path::PathBuf;

use crate::given::{Given, Origin};

/// All problems of the settings, not only the first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(problems))]
pub struct SettingsError {
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("file {} line {line} column {column}: not valid TOML: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, column: usize, message: String },
    #[error("{origin}: unknown setting {name} (value {}){}", quoted(value), hint(nearest))]
    Unknown {
        name: String,
        value: String,
        origin: Origin,
        /// A similar known name, as a key, variable or flag like `name`.
        nearest: Option<String>,
    },
    #[error(
        "{origin}: {name} = {}, but {name} is a group: expected a table [{name}]",
        quoted(value)
    )]
    NotATable { name: String, value: String, origin: Origin },
    #[error("{}: {} = {}, expected {expected}", given.origin, given.key, quoted(&given.value))]
    BadValue { given: Given, expected: String },
    /// In a named table.
    #[error("{origin}: {message}{}", advice(hint))]
    Entry { origin: Origin, message: String, hint: Option<String> },
    #[error("{} {relation} {}", with_origin(lesser), with_origin(greater))]
    OutOfOrder { lesser: Given, relation: &'static str, greater: Given },
    #[error("{} conflicts with {}; {advice}", with_origin(one), with_origin(other))]
    Contradiction { one: Given, other: Given, advice: &'static str },
}

fn list(problems: &[Problem]) -> String {
    let count = match problems.len() {
        1 => "1 problem".to_owned(),
        several => format!("{several} problems"),
    };
    let mut text = format!("{count} in the settings:");
    for problem in problems {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n  {problem}");
    }
    text
}

fn with_origin(given: &Given) -> String {
    format!("{} = {} ({})", given.key, quoted(&given.value), given.origin)
}

fn hint(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean {name}?"),
        None => "; see docs/configuration.md for all settings".to_owned(),
    }
}

fn advice(hint: &Option<String>) -> String {
    hint.as_ref().map_or_else(String::new, |hint| format!(". {hint}"))
}

/// Truncated, so that a file pasted into a variable does not flood the log.
fn quoted(value: &str) -> String {
    const MAX_CHARS: usize = 80;
    match value.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{:?}...", &value[..end]),
        None => format!("{value:?}"),
    }
}
