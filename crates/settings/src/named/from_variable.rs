use std::borrow::Cow;

use rota_model::{Rejection, json};
use serde_json::Value;
use serde_json::value::RawValue;

use super::document::{Document, Places, Table};
use crate::error::Problem;
use crate::given::Origin;

/// Deeper than any table is.
const DEEPEST: usize = 16;

pub(crate) fn document(
    table: Table,
    variable: String,
    text: &str,
    problems: &mut Vec<Problem>,
) -> Option<Document> {
    match parse(table.key(), text) {
        Ok(value) => {
            let value = unwrapped(table, value);
            Some(Document { table, value, places: Places::Variable(variable) })
        }
        Err(rejection) => {
            problems.push(Problem::Entry {
                origin: Origin::Environment(variable),
                message: rejection.message,
                hint: Some(format!("Write JSON such as {}.", example(table))),
            });
            None
        }
    }
}

fn parse(what: &str, text: &str) -> Result<Value, Rejection> {
    let text = json::check(text.as_bytes(), DEEPEST)?;
    let raw: &RawValue = serde_json::from_str(text)
        .map_err(|error| Rejection::malformed(format!("{what} is not valid JSON: {error}")))?;
    without_repeats(what, raw)
}

/// A name that is there twice is refused: one of the two would be lost without a word.
fn without_repeats(what: &str, raw: &RawValue) -> Result<Value, Rejection> {
    if let Some(items) = json::elements(raw) {
        return items.into_iter().map(|item| without_repeats(what, item)).collect();
    }
    if !raw.get().starts_with('{') {
        return serde_json::from_str(raw.get())
            .map_err(|error| Rejection::malformed(format!("{what} is not valid JSON: {error}")));
    }
    let members = json::members(raw.get(), what)?;
    let member = |(name, raw): (Cow<'_, str>, &RawValue)| {
        let value = without_repeats(&format!("{what}.{name}"), raw)?;
        Ok((name.into_owned(), value))
    };
    members.into_iter().map(member).collect()
}

/// A document may be pasted with its own name around it: `{"tenants": {...}}`.
fn unwrapped(table: Table, mut value: Value) -> Value {
    let members = value.as_object_mut().filter(|members| members.len() == 1);
    match members.and_then(|members| members.remove(table.key())) {
        Some(inner) => inner,
        None => value,
    }
}

fn example(table: Table) -> &'static str {
    match table {
        Table::Tenants => r#"{"acme": {"weight": 10}}"#,
        Table::Pools => r#"{"payments": {"queues": ["payments"], "concurrency": 10}}"#,
        Table::RateLimits => r#"{"stripe-api": {"rate": {"limit": 100, "period": "PT1M"}}}"#,
        Table::TenantFairness => r#"{"enabled": true, "weights": {"acme": 5}}"#,
    }
}
