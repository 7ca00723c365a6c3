//! Replaces references to earlier steps: `{{steps.step-1.response.body.job.id}}`, `{{name}}`, `${name}` and
//! `$ref.name`.

use serde_json::Value;

use crate::{context::Context, path::Path};

/// Fills in every reference within a value, keys included. A text that is nothing but one reference
/// becomes the referenced value with its type; otherwise the value is written into the text.
pub fn fill(value: &Value, context: &Context) -> Result<Value, String> {
    match value {
        Value::String(text) => fill_string(text, context),
        Value::Array(items) => items.iter().map(|item| fill(item, context)).collect(),
        Value::Object(members) => {
            let filled = members
                .iter()
                .map(|(key, member)| Ok((fill_text(key, context)?, fill(member, context)?)));
            filled.collect()
        }
        other => Ok(other.clone()),
    }
}

/// Fills in every reference within a text that stays a text: a path, a header.
pub fn fill_text(text: &str, context: &Context) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(reference) = next_reference(rest) {
        filled.push_str(&rest[..reference.start]);
        match lookup(reference.name, context)? {
            Value::String(value) => filled.push_str(&value),
            value => filled.push_str(&value.to_string()),
        }
        rest = &rest[reference.end..];
    }
    filled.push_str(rest);
    Ok(filled)
}

fn fill_string(text: &str, context: &Context) -> Result<Value, String> {
    if let Some(name) = text.strip_prefix("$ref.") {
        return lookup(name, context);
    }
    match next_reference(text) {
        Some(whole) if whole.start == 0 && whole.end == text.len() => lookup(whole.name, context),
        _ => fill_text(text, context).map(Value::String),
    }
}

struct Reference<'a> {
    name: &'a str,
    start: usize,
    end: usize,
}

fn next_reference(text: &str) -> Option<Reference<'_>> {
    let found = [("{{", "}}"), ("${", "}")].into_iter().filter_map(|(open, close)| {
        let start = text.find(open)?;
        let inside = &text[start + open.len()..];
        let length = inside.find(close)?;
        let end = start + open.len() + length + close.len();
        Some(Reference { name: inside[..length].trim(), start, end })
    });
    found.min_by_key(|reference| reference.start)
}

fn lookup(name: &str, context: &Context) -> Result<Value, String> {
    let value = match name.starts_with("steps.") {
        true => context.find(&Path::parse(name)?),
        false => context.captured(name),
    };
    value.ok_or_else(|| format!("no earlier step has left a value for {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Response;
    use serde_json::json;

    fn context() -> Context {
        let mut context = Context::default();
        context.record(
            "step-1",
            &Response::of_json(201, json!({"job": {"id": "a-1"}, "jobs": [{"id": "b", "n": 7}]})),
        );
        context.capture("job_id", json!("c-3"));
        context
    }

    #[test]
    fn a_whole_reference_keeps_its_type() {
        let context = context();
        let filled = |text: &str| fill(&json!(text), &context).unwrap();
        assert_eq!(filled("{{steps.step-1.response.body.job.id}}"), json!("a-1"));
        assert_eq!(filled("{{steps.step-1.response.body.jobs[0].n}}"), json!(7));
        assert_eq!(filled("{{steps.step-1.response.body.jobs}}"), json!([{"id": "b", "n": 7}]));
        assert_eq!(filled("{{steps.step-1.response.status}}"), json!(201));
        assert_eq!(filled("{{job_id}}"), json!("c-3"));
        assert_eq!(filled("${job_id}"), json!("c-3"));
        assert_eq!(filled("$ref.job_id"), json!("c-3"));
    }

    #[test]
    fn references_are_written_into_texts() {
        let text = "/jobs/${job_id}/x/{{steps.step-1.response.body.jobs[0].n}}?a={{job_id}}";
        assert_eq!(fill_text(text, &context()).unwrap(), "/jobs/c-3/x/7?a=c-3");
        let key = "$.jobs[?(@.id=='{{steps.step-1.response.body.job.id}}')].state";
        assert_eq!(fill_text(key, &context()).unwrap(), "$.jobs[?(@.id=='a-1')].state");
    }

    #[test]
    fn fills_inside_objects_and_lists_and_keys() {
        let value =
            json!({"ids": ["{{job_id}}", 1], "$.x[?(@.id=='${job_id}')]": {"deep": "$ref.job_id"}});
        let filled = fill(&value, &context()).unwrap();
        assert_eq!(filled, json!({"ids": ["c-3", 1], "$.x[?(@.id=='c-3')]": {"deep": "c-3"}}));
    }

    #[test]
    fn a_missing_value_is_an_error() {
        let context = context();
        for text in [
            "{{steps.step-9.response.body}}",
            "{{steps.step-1.response.body.no}}",
            "${none}",
            "$ref.none",
        ] {
            assert!(fill(&json!(text), &context).is_err(), "{text} should not be filled");
        }
    }

    #[test]
    fn texts_without_references_stay_as_they_are() {
        for text in ["{ invalid json }", "{{open", "$.job.id", "costs 5$", "^[a-z]{2}$"] {
            assert_eq!(fill(&json!(text), &context()).unwrap(), json!(text));
        }
    }
}
