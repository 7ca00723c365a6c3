//! Cases that are known to fail because they contradict themselves.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;

use crate::error::Error;

const BUILT_IN: &str = include_str!("../known.toml");

/// The reason by file.
#[derive(Debug, Default)]
pub struct Known {
    reasons: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    known: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    file: String,
    reason: String,
}

impl Known {
    /// From a file, or the list that is compiled in.
    pub fn load(file: Option<&Path>) -> Result<Known, Error> {
        let Some(file) = file else {
            return Known::parse(BUILT_IN);
        };
        let text = fs::read_to_string(file);
        Known::parse(&text.map_err(|error| Error::Known(format!("{}: {error}", file.display())))?)
    }

    fn parse(text: &str) -> Result<Known, Error> {
        let document: Document =
            toml::from_str(text).map_err(|error| Error::Known(error.to_string()))?;
        let mut reasons = BTreeMap::new();
        for Entry { file, reason } in document.known {
            if reasons.insert(file.clone(), reason).is_some() {
                return Err(Error::Known(format!("{file} is listed twice")));
            }
        }
        Ok(Known { reasons })
    }

    pub fn reason(&self, file: &str) -> Option<&str> {
        self.reasons.get(file).map(String::as_str)
    }

    /// Entries whose file is gone.
    pub fn stale(&self, files: &[String]) -> Vec<String> {
        let gone = self.reasons.keys().filter(|file| !files.contains(file));
        gone.map(|file| format!("{file} is listed as a known failure, but there is no such case"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiled_list_names_files_with_reasons() {
        let known = Known::load(None).unwrap();
        assert!(known.reason("level-1-reliable/retry/retry-error-history-tracked.json").is_some());
        assert_eq!(known.reason("level-1-reliable/retry/retry-constant-backoff.json"), None);
    }

    #[test]
    fn an_entry_needs_its_reason_and_stands_once() {
        assert!(Known::parse("").unwrap().reasons.is_empty());
        assert!(Known::parse("[[known]]\nfile = 'a'").is_err());
        let entry = "[[known]]\nfile = 'a'\nreason = 'b'\n";
        assert!(Known::parse(&entry.repeat(2)).is_err());
        let known = Known::parse(entry).unwrap();
        assert_eq!(known.stale(&["b".into()]).len(), 1);
        assert!(known.stale(&["a".into()]).is_empty());
    }
}
