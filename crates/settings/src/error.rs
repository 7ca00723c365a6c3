use std::fmt::Write;
use std::path::PathBuf;

use crate::given::{Given, Origin};

/// Everything that is wrong with the settings, found in one pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(problems))]
pub struct SettingsError {
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("file {} line {line} column {column}: not valid TOML: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, column: usize, message: String },
    #[error("{origin}: no setting is called {name} (value {}){}", quoted(value), hint(nearest))]
    Unknown {
        name: String,
        value: String,
        origin: Origin,
        /// The known name closest to it, in the form of the place it came from.
        nearest: Option<String>,
    },
    #[error(
        "{origin}: {name} = {}, but {name} is a group: expected a table [{name}]",
        quoted(value)
    )]
    NotATable { name: String, value: String, origin: Origin },
    #[error("{}: {} = {}, expected {expected}", given.origin, given.key, quoted(&given.value))]
    BadValue { given: Given, expected: String },
    /// Something inside a table whose entries people name.
    #[error("{origin}: {message}{}", advice(hint))]
    Entry { origin: Origin, message: String, hint: Option<String> },
    #[error("{} {relation} {}", placed(lesser), placed(greater))]
    OutOfOrder { lesser: Given, relation: &'static str, greater: Given },
    #[error("{} does not go with {}; {advice}", placed(one), placed(other))]
    Contradiction { one: Given, other: Given, advice: &'static str },
}

fn listed(problems: &[Problem]) -> String {
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

fn placed(given: &Given) -> String {
    format!("{} = {} ({})", given.key, quoted(&given.value), given.origin)
}

fn hint(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean {name}?"),
        None => "; docs/configuration.md lists them all".to_owned(),
    }
}

fn advice(hint: &Option<String>) -> String {
    hint.as_ref().map_or_else(String::new, |hint| format!(". {hint}"))
}

/// Shortened, so that a file pasted into a variable does not flood the log.
fn quoted(value: &str) -> String {
    const LONGEST: usize = 80;
    match value.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &value[..end]),
        None => format!("{value:?}"),
    }
}
