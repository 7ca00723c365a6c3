//! Values as they were given, before they are parsed.

use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::named::Document;

/// The text of a value for a known setting, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub key: &'static str,
    pub value: String,
    pub origin: Origin,
}

/// Everything in one source.
#[derive(Default)]
pub(crate) struct Found {
    pub given: Vec<Given>,
    pub documents: Vec<Document>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File {
        path: PathBuf,
        line: usize,
    },
    /// The name of the variable.
    Environment(String),
    /// The flag with its dashes.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(out, "default"),
            Self::File { path, line } => write!(out, "file {} line {line}", path.display()),
            Self::Environment(name) => write!(out, "environment {name}"),
            Self::Flag(name) => write!(out, "flag {name}"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
