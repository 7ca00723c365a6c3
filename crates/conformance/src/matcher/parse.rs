//! Parses matchers. An unknown form is an error and never taken as a literal.

use std::str::FromStr;

use regex_lite::Regex;
use serde_json::Value;

use super::{Matcher, NumberRule, TextRule, operator};
use crate::mode::Mode;

/// Texts that start like this are matchers, so an unknown one is not a literal.
const FAMILIES: [&str; 3] = ["string:", "number:", "array:"];

impl Matcher {
    pub fn parse(value: &Value, mode: Mode) -> Result<Matcher, String> {
        match value {
            Value::String(text) => parse_text(text, mode),
            Value::Array(items) => {
                let elements: Result<_, _> =
                    items.iter().map(|item| Matcher::parse(item, mode)).collect();
                elements.map(Matcher::Elements)
            }
            Value::Object(members) if operator::is_operator(members) => {
                operator::parse(members, mode)
            }
            Value::Object(members) => {
                let members = members.iter();
                let parsed =
                    members.map(|(key, value)| Ok((key.clone(), Matcher::parse(value, mode)?)));
                parsed.collect::<Result<_, String>>().map(Matcher::Members)
            }
            scalar => Ok(Matcher::Equal(scalar.clone())),
        }
    }
}

fn parse_text(text: &str, mode: Mode) -> Result<Matcher, String> {
    let word = match text {
        "absent" => Some(Matcher::Absent),
        "exists" => Some(Matcher::Exists),
        "any" => Some(Matcher::Anything),
        "string:nonempty" | "string:non_empty" => Some(Matcher::Text(TextRule::NonEmpty)),
        "string:uuid" => Some(Matcher::Text(TextRule::Uuid)),
        "string:uuidv7" => Some(Matcher::Text(TextRule::UuidV7)),
        "string:datetime" => Some(Matcher::Text(TextRule::DateTime)),
        "number:positive" => Some(Matcher::Number(NumberRule::Positive)),
        "number:non_negative" => Some(Matcher::Number(NumberRule::at_least(0.0))),
        "array:nonempty" => Some(Matcher::Size(NumberRule::at_least(1.0))),
        "array:empty" => Some(Matcher::Size(NumberRule::exactly(0.0))),
        _ => parse_with_argument(text, mode),
    };
    match word {
        Some(matcher) => Ok(matcher),
        None if FAMILIES.iter().any(|family| text.starts_with(family)) => Err(unknown(text)),
        None => Ok(Matcher::Equal(text.into())),
    }
}

fn parse_with_argument(text: &str, mode: Mode) -> Option<Matcher> {
    if let Some(part) = text.strip_prefix("string:contains:") {
        return Some(Matcher::Text(TextRule::Contains(part.into())));
    }
    if let Some(pattern) = argument(text, "string:pattern") {
        return Some(Matcher::Text(TextRule::Pattern(Regex::new(pattern).ok()?)));
    }
    if let Some(bounds) = argument(text, "number:range") {
        let (least, most) = bounds.split_once(',')?;
        let rule = NumberRule::Between(number(least)?, number(most)?);
        return Some(Matcher::Number(rule));
    }
    if let Some(length) = argument(text, "array:length").or(text.strip_prefix("array:length:")) {
        return Some(Matcher::Size(NumberRule::exactly(number(length)?)));
    }
    if let Some(least) = text.strip_prefix("array:min_length:").or(text.strip_prefix("array:min:"))
    {
        return Some(Matcher::Size(NumberRule::at_least(number(least)?)));
    }
    if let Some(item) = text.strip_prefix("contains:") {
        return Some(Matcher::Contains(item.into()));
    }
    if let Some(item) = text.strip_prefix("not_contains:") {
        return Some(Matcher::NotContains(item.into()));
    }
    let about = number(text.strip_prefix('~')?)?;
    Some(Matcher::Number(NumberRule::about(about, mode)))
}

/// The inside of `name(...)`.
fn argument<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')
}

fn number(text: &str) -> Option<f64> {
    f64::from_str(text.trim()).ok().filter(|number| number.is_finite())
}

pub(super) fn unknown(matcher: &str) -> String {
    format!("unknown matcher {matcher}")
}
