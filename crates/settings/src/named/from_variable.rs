use std::borrow::Cow;

use rota_model::{Rejection, json};
use serde_json::Value;
use serde_json::value::RawValue;

use super::document::{Document, Source, Table};
use crate::error::Problem;
use crate::given::Origin;

/// No table is nested deeper.
const MAX_DEPTH: usize = 16;

pub(crate) fn from_variable(
    table: Table,
    variable: String,
    text: &str,
    problems: &mut Vec<Problem>,
) -> Option<Document> {
    match parse(table.key(), text) {
        Ok(value) => {
            let value = unwrapped(table, value);
            Some(Document { table, value, source: Source::Variable(variable) })
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

fn parse(name: &str, text: &str) -> Result<Value, Rejection> {
    let text = json::check(text.as_bytes(), MAX_DEPTH)?;
    parse_unique(name, from_str(name, text)?)
}

/// Refuses repeated names, of which serde_json would keep the last.
fn parse_unique(path: &str, raw: &RawValue) -> Result<Value, Rejection> {
    if let Some(items) = json::elements(raw) {
        return items.into_iter().map(|item| parse_unique(path, item)).collect();
    }
    if !raw.get().starts_with('{') {
        return from_str(path, raw.get());
    }
    let member = |(name, raw): (Cow<'_, str>, &RawValue)| {
        let value = parse_unique(&format!("{path}.{name}"), raw)?;
        Ok((name.into_owned(), value))
    };
    json::members(raw.get(), path)?.into_iter().map(member).collect()
}

fn from_str<'text, T: serde::Deserialize<'text>>(
    path: &str,
    text: &'text str,
) -> Result<T, Rejection> {
    serde_json::from_str(text)
        .map_err(|error| Rejection::malformed(format!("{path} is not valid JSON: {error}")))
}

/// The table's own name may be around its entries: `{"tenants": {...}}`.
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
        Table::ReplayRules => {
            r#"{"connections": {"filter": {"error_type": "ConnectionError"}, "delay": "PT1H", "max_replays": 3}}"#
        }
        Table::Certificates => {
            r#"{"acme-workers": {"san": "dns:worker.acme.example", "tenant": "acme", "scopes": ["dequeue"]}}"#
        }
        Table::TenantFairness => r#"{"enabled": true, "weights": {"acme": 5}}"#,
    }
}
