//! Matches by operators, such as `{"$exists": true, "$type": "string"}` or `{"range": {"min": 1, "max": 3}}`.
//! All operators of one object must hold.

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::{Kind, Matcher, NumberRule, TextRule, parse::unknown};
use crate::mode::Mode;

pub(super) fn is_operator(members: &Map<String, Value>) -> bool {
    members.keys().any(|key| key.starts_with('$')) || is_range(members)
}

/// `range` has no sign of its own, so it counts only where it cannot be a member of that name.
fn is_range(members: &Map<String, Value>) -> bool {
    let bounds = members.get("range").and_then(Value::as_object);
    members.len() == 1
        && bounds.is_some_and(|bounds| {
            !bounds.is_empty() && bounds.keys().all(|key| key == "min" || key == "max")
        })
}

pub(super) fn parse(members: &Map<String, Value>, mode: Mode) -> Result<Matcher, String> {
    let parts: Result<Vec<Matcher>, String> = members
        .iter()
        .map(|(name, argument)| {
            parse_one(name, argument, mode)?.ok_or_else(|| unknown(&format!("{name}: {argument}")))
        })
        .collect();
    parts.map(Matcher::All)
}

fn parse_one(name: &str, argument: &Value, mode: Mode) -> Result<Option<Matcher>, String> {
    Ok(match name {
        "$exists" => argument.as_bool().map(|wanted| match wanted {
            true => Matcher::Exists,
            false => Matcher::Absent,
        }),
        "$type" => argument.as_str().and_then(Kind::named).map(Matcher::Kind),
        "$eq" => Some(Matcher::parse(argument, mode)?),
        "$in" | "$or" => match argument.as_array() {
            Some(choices) => Some(Matcher::OneOf(parse_all(choices, mode)?)),
            None => None,
        },
        "$match" => argument
            .as_str()
            .and_then(|pattern| Regex::new(pattern).ok())
            .map(|pattern| Matcher::Text(TextRule::Pattern(pattern))),
        "$gte" => argument.as_f64().map(NumberRule::at_least).map(Matcher::Number),
        "$lte" => argument
            .as_f64()
            .map(|most| Matcher::Number(NumberRule::Between(f64::NEG_INFINITY, most))),
        "$size" => size(argument).map(Matcher::Size),
        "$empty" => argument.as_bool().map(Matcher::Empty),
        "range" => range(argument).map(Matcher::Number),
        _ => None,
    })
}

fn parse_all(choices: &[Value], mode: Mode) -> Result<Vec<Matcher>, String> {
    choices.iter().map(|choice| Matcher::parse(choice, mode)).collect()
}

/// A length, or bounds on it: `{"$gte": 2}`.
fn size(argument: &Value) -> Option<NumberRule> {
    if let Some(length) = argument.as_f64() {
        return Some(NumberRule::exactly(length));
    }
    let bounds = argument.as_object()?;
    let known = bounds.keys().all(|key| key == "$gte" || key == "$lte");
    (known && !bounds.is_empty()).then(|| between(bounds, "$gte", "$lte"))?
}

fn range(argument: &Value) -> Option<NumberRule> {
    between(argument.as_object()?, "min", "max")
}

fn between(bounds: &Map<String, Value>, least: &str, most: &str) -> Option<NumberRule> {
    let bound = |name: &str, unbounded: f64| match bounds.get(name) {
        Some(value) => value.as_f64(),
        None => Some(unbounded),
    };
    Some(NumberRule::Between(bound(least, f64::NEG_INFINITY)?, bound(most, f64::INFINITY)?))
}
