//! Alternatives and ranges of types.

use serde_json::{Value, json};

use super::Problem;

/// Joins alternatives: words to one enumeration, and `null` to the type it stands beside.
pub(super) fn any_of(parts: Vec<Value>) -> Value {
    let is_word = |part: &Value| part.get("enum").is_some();
    let (words, mut others): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_word);
    if !words.is_empty() {
        let words: Vec<Value> = words.iter().map(|word| word["enum"][0].clone()).collect();
        others.insert(0, json!({"type": "string", "enum": words}));
    }
    let null = json!({"type": "null"});
    match others.as_mut_slice() {
        [one] => one.take(),
        [one, other] if *other == null && one["type"].is_string() && one.get("enum").is_none() => {
            one["type"] = json!([one["type"], "null"]);
            one.take()
        }
        _ => json!({"anyOf": others}),
    }
}

/// Applies a range such as `1..100`, `0.5..` or `..10`.
pub(super) fn bound(schema: &mut Value, range: &str) -> Result<(), Problem> {
    let (least, most) = range.split_once("..").ok_or_else(|| format!("({range}) is no range"))?;
    let names = match schema["type"].as_str() {
        Some("string") => ["minLength", "maxLength"],
        Some("array") => ["minItems", "maxItems"],
        Some("integer" | "number") => ["minimum", "maximum"],
        other => return Err(format!("({range}) cannot bound {other:?}")),
    };
    for (name, text) in names.into_iter().zip([least, most]).filter(|(_, text)| !text.is_empty()) {
        let number: Value =
            serde_json::from_str(text).map_err(|_| format!("'{text}' is no number"))?;
        schema[name] = number;
    }
    Ok(())
}
