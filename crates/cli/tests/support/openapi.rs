//! Checks answers against the OpenAPI document, `docs/openapi.json`.
//!
//! The document leaves room for members that later versions add. Here, a member that it does not describe is
//! an error, so that the document stays complete.

use std::sync::OnceLock;

use serde_json::Value;

/// An answer to check.
pub struct Checked<'a> {
    pub method: &'a str,
    /// With the query string.
    pub path: &'a str,
    pub status: u16,
    pub content_type: Option<&'a str>,
    pub text: &'a str,
}

/// Fails the test if the document does not allow the answer.
#[track_caller]
pub fn check(answer: &Checked<'_>) {
    if let Err(problem) = problem_of(document(), answer) {
        let Checked { method, path, status, text, .. } = answer;
        let text: String = text.chars().take(2_000).collect();
        panic!(
            "docs/openapi.json does not describe this answer: {method} {path} {status}\n{problem}\n\
             Describe it in crates/server/src/http/openapi, and renew the document with \
             UPDATE_DOCS=1 cargo test -p rota-server openapi.\n{text}"
        );
    }
}

pub fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let text = std::fs::read_to_string(path).expect("docs/openapi.json can be read");
        serde_json::from_str(&text).expect("docs/openapi.json is JSON")
    })
}

/// What the document does not allow.
pub fn problem_of(document: &Value, answer: &Checked<'_>) -> Result<(), String> {
    let Checked { method, path, status, content_type, text } = *answer;
    // Preflights are about the browser, not about the API.
    if method == "OPTIONS" {
        return Ok(());
    }
    // The HTTP library itself refuses some malformed requests, with nothing but a status.
    if text.is_empty() && content_type.is_none() && matches!(status, 400 | 414 | 431) {
        return Ok(());
    }
    let error = || {
        let value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        validate(document, &document["components"]["schemas"]["Error"], &value, "")
    };
    let operation_method = if method == "HEAD" { "get" } else { &method.to_ascii_lowercase() };
    let Some(operation) = find(document, path).and_then(|item| item.get(operation_method)) else {
        return match status {
            _ if method == "HEAD" => Ok(()),
            400..=499 => error(),
            _ => Err("no such operation".to_owned()),
        };
    };
    let response = operation["responses"].get(status.to_string());
    let response = resolve(document, response.ok_or("the status is not described")?);
    if method == "HEAD" {
        return Ok(());
    }
    let Some(content) = response.get("content").and_then(Value::as_object) else {
        return if text.is_empty() { Ok(()) } else { Err("no content is described".to_owned()) };
    };
    let given = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    let media = content.get(given).ok_or_else(|| format!("unknown content type '{given}'"))?;
    if !given.ends_with("json") {
        return Ok(());
    }
    let value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    validate(document, &media["schema"], &value, "")
}

/// The path of the document that a request goes to; of several, the one with the fewest parameters.
fn find<'d>(document: &'d Value, path: &str) -> Option<&'d Value> {
    let path = path.split('?').next().unwrap_or(path);
    let paths = document["paths"].as_object()?;
    let fits = |template: &str| {
        let (parts, given) = (template.split('/'), path.split('/'));
        template.split('/').count() == path.split('/').count()
            && parts
                .zip(given)
                .all(|(part, given)| part == given || part.starts_with('{') && !given.is_empty())
    };
    let fitting = paths.iter().filter(|(template, _)| fits(template));
    fitting.min_by_key(|(template, _)| template.matches('{').count()).map(|(_, item)| item)
}

fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(reference) => document
            .pointer(reference.trim_start_matches('#'))
            .unwrap_or_else(|| panic!("{reference} does not exist")),
        None => value,
    }
}

/// Checks a value against a schema; `at` is the JSON pointer of the value.
pub fn validate(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let schema = resolve(document, schema);
    let members = schema.as_object().expect("a schema is an object");
    let wrong = |problem: String| Err(format!("{at:?} {problem}"));
    for (keyword, rule) in members {
        let fits = match keyword.as_str() {
            "type" => has_type(value, rule),
            "enum" => rule.as_array().is_some_and(|all| all.contains(value)),
            "anyOf" => {
                let all = rule.as_array().into_iter().flatten();
                let mut problems: Vec<String> = Vec::new();
                for one in all {
                    match validate(document, one, value, at) {
                        Ok(()) => problems.clear(),
                        Err(problem) => {
                            problems.push(problem);
                            continue;
                        }
                    }
                    break;
                }
                // The most telling problem is that of the alternative that fits best.
                let best = problems.into_iter().max_by_key(|problem| problem.matches('/').count());
                best.map_or(Ok(()), Err)?;
                true
            }
            "minimum" => value.as_f64().is_none_or(|n| rule.as_f64().is_some_and(|min| n >= min)),
            "maximum" => value.as_f64().is_none_or(|n| rule.as_f64().is_some_and(|max| n <= max)),
            "minLength" => length(value).is_none_or(|n| rule.as_u64().is_some_and(|min| n >= min)),
            "maxLength" => length(value).is_none_or(|n| rule.as_u64().is_some_and(|max| n <= max)),
            "format" => has_format(value, rule),
            "items" | "properties" | "required" | "additionalProperties" => true,
            "minItems" | "maxItems" | "description" | "pattern" => true,
            other => panic!("this check does not know the keyword '{other}'"),
        };
        if !fits {
            return wrong(format!("does not fit {keyword}: {rule}; it is {value}"));
        }
    }
    match value {
        Value::Array(items) => match schema.get("items") {
            Some(schema) => items
                .iter()
                .enumerate()
                .try_for_each(|(i, item)| validate(document, schema, item, &format!("{at}/{i}"))),
            None => Ok(()),
        },
        Value::Object(members) if schema.get("type").is_some() => {
            let names = schema["required"].as_array().into_iter().flatten();
            let mut missing =
                names.filter_map(Value::as_str).filter(|name| !members.contains_key(*name));
            if let Some(name) = missing.next() {
                return wrong(format!("lacks the member '{name}'"));
            }
            members.iter().try_for_each(|(name, value)| {
                let at = format!("{at}/{name}");
                match (schema["properties"].get(name), schema.get("additionalProperties")) {
                    (Some(schema), _) => validate(document, schema, value, &at),
                    (None, Some(Value::Bool(true))) => Ok(()),
                    (None, Some(schema @ Value::Object(_))) => {
                        validate(document, schema, value, &at)
                    }
                    (None, _) => Err(format!("{at:?} is not described")),
                }
            })
        }
        _ => Ok(()),
    }
}

fn has_type(value: &Value, types: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        other => panic!("this check does not know the type {other:?}"),
    };
    types.as_array().map_or_else(|| is(types), |all| all.iter().any(is))
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

fn has_format(value: &Value, format: &Value) -> bool {
    let Some(text) = value.as_str() else { return true };
    match format.as_str() {
        Some("date-time") => {
            text.len() >= 20
                && text.as_bytes()[10].eq_ignore_ascii_case(&b'T')
                && text.bytes().take(4).all(|byte| byte.is_ascii_digit())
        }
        Some("uuid") => text.len() == 36 && text.matches('-').count() == 4,
        other => panic!("this check does not know the format {other:?}"),
    }
}
