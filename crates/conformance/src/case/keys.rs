//! The keys that a case file may have.

use serde_json::{Map, Value};

/// Besides `steps`, `test_id` and `name`, these only describe. Preconditions are set up by the
/// case's own steps.
pub const CASE: [&str; 9] = [
    "category",
    "description",
    "level",
    "name",
    "preconditions",
    "spec_ref",
    "steps",
    "tags",
    "test_id",
];

pub const STEP: [&str; 18] = [
    "action",
    "assertions",
    "body",
    "capture",
    "captures",
    "delay_ms",
    "description",
    "duration_ms",
    "expect",
    "headers",
    "id",
    "intent",
    "parallel_with",
    "path",
    "raw_body",
    "repeat",
    "request",
    "store",
];

pub const ASSERTION: [&str; 7] =
    ["body", "equality", "exclusive_claim", "headers", "status", "status_in", "status_one_of"];

pub fn unknown(place: &str, object: &Map<String, Value>, known: &[&str]) -> Vec<String> {
    let unknown = object.keys().filter(|key| !known.contains(&key.as_str()));
    unknown.map(|key| format!("{place} has the unknown key {key:?}")).collect()
}

/// `body.<path>` is an expectation of its own, and a comment expects nothing.
pub fn is_assertion(key: &str) -> bool {
    ASSERTION.contains(&key) || key.starts_with("body.") || key.ends_with("_comment")
}
