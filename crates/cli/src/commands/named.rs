//! A required, non-empty name argument.

/// A name that a command acts on. An empty one would address the whole collection.
pub(crate) fn named(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
}
