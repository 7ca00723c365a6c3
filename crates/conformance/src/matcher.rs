//! Matches one value. As in the public runner, a missing value and a null are both "absent"; a literal `null`
//! requires an explicit null.

use serde_json::Value;

use crate::path::Path;

mod kind;
mod number;
mod operator;
mod parse;
mod text;

pub use kind::Kind;
pub use number::NumberRule;
pub use text::TextRule;

#[derive(Debug, Clone)]
pub enum Matcher {
    Absent,
    Exists,
    Anything,
    Equal(Value),
    Text(TextRule),
    Number(NumberRule),
    Kind(Kind),
    /// The length of an array.
    Size(NumberRule),
    /// An array with an element equal to this text.
    Contains(String),
    NotContains(String),
    /// An empty array, object or text, or nothing at all.
    Empty(bool),
    OneOf(Vec<Matcher>),
    All(Vec<Matcher>),
    /// An object with at least these members.
    Members(Vec<(String, Matcher)>),
    /// An array of exactly these elements, in this order.
    Elements(Vec<Matcher>),
}

impl Matcher {
    /// Says why the value does not match.
    pub fn check(&self, actual: Option<&Value>) -> Result<(), String> {
        let present = actual.filter(|value| !value.is_null());
        match self {
            Matcher::Absent => expect(present.is_none(), "should be absent"),
            Matcher::Exists => expect(present.is_some(), "should exist"),
            Matcher::Anything => Ok(()),
            Matcher::Equal(expected) => {
                expect(actual.is_some_and(|value| same_scalar(expected, value)), "is not equal")
            }
            Matcher::Text(rule) => rule.check(actual),
            Matcher::Number(rule) => rule.check(actual.and_then(Value::as_f64)),
            Matcher::Kind(kind) => kind.check(actual),
            Matcher::Size(rule) => rule.check(Some(array(actual)?.len() as f64)),
            Matcher::Contains(text) => expect(holds(array(actual)?, text), "is not contained"),
            Matcher::NotContains(text) => expect(!holds(array(actual)?, text), "is contained"),
            Matcher::Empty(wanted) => {
                expect(is_empty(present) == *wanted, "differs in being empty")
            }
            Matcher::OneOf(choices) => check_any(choices, actual),
            Matcher::All(parts) => parts.iter().try_for_each(|part| part.check(actual)),
            Matcher::Members(members) => check_members(members, actual),
            Matcher::Elements(elements) => check_elements(elements, array(actual)?),
        }
    }
}

fn check_any(choices: &[Matcher], actual: Option<&Value>) -> Result<(), String> {
    let matched = choices.iter().any(|choice| choice.check(actual).is_ok());
    expect(matched, "matches none of the alternatives")
}

fn check_members(members: &[(String, Matcher)], actual: Option<&Value>) -> Result<(), String> {
    let object = actual.filter(|value| value.is_object()).ok_or("is not an object")?;
    members.iter().try_for_each(|(key, matcher)| {
        // Keys with dots reach into nested objects too: `ojs.federation.weights.us-east-1`.
        let found = Path::of_keys(key).find(object);
        matcher.check(found.as_ref()).map_err(|why| format!("{key}: {why}"))
    })
}

fn check_elements(elements: &[Matcher], actual: &[Value]) -> Result<(), String> {
    if elements.len() != actual.len() {
        return Err(format!("has {} elements instead of {}", actual.len(), elements.len()));
    }
    elements.iter().zip(actual).enumerate().try_for_each(|(index, (matcher, value))| {
        matcher.check(Some(value)).map_err(|why| format!("[{index}]: {why}"))
    })
}

fn array(actual: Option<&Value>) -> Result<&Vec<Value>, String> {
    actual.and_then(Value::as_array).ok_or_else(|| "is not an array".into())
}

fn holds(items: &[Value], text: &str) -> bool {
    items.iter().any(|item| item.as_str() == Some(text))
}

fn is_empty(actual: Option<&Value>) -> bool {
    match actual {
        None => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

/// Numbers are compared by value: `2` and `2.0` are the same.
fn same_scalar(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Number(expected), Value::Number(actual)) if expected != actual => {
            expected.as_f64() == actual.as_f64()
        }
        _ => expected == actual,
    }
}

fn expect(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

#[cfg(test)]
mod tests;
