//! The route for the audit log.

use axum::http::StatusCode;
use rota_model::audit::{AuditOutcome, AuditRow};
use rota_store::{AuditQuery, Order};
use serde_json::{Map, Value, json};

use crate::http::error::{ApiError, ApiResult, excerpt};
use crate::http::params::Params;
use crate::http::{Access, reply};

/// The most entries on a page.
const MAX_PER_PAGE: u64 = 1_000;
/// The most entries that are read for a page.
const MAX_SCANNED: usize = 5_000;
/// The longest subject or action that is looked for, in bytes.
const MAX_FILTER: usize = 512;

pub(in crate::http) async fn list(access: Access, params: Params) -> ApiResult {
    let named = params.tenant()?;
    let Some(tenant) = access.tenant_or(named.clone()) else {
        let text = "The audit log of another tenant is reserved for operators.";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
            .hint("Leave out 'tenant': the entries of your own tenant are listed."));
    };
    let limit = params.page_size(100, MAX_PER_PAGE)? as usize;
    let query = AuditQuery {
        tenant,
        since: params.time("since")?,
        until: params.time("until")?,
        subject: text(&params, "subject")?,
        action: text(&params, "action")?,
        outcome: outcome(&params)?,
        after: params.get("cursor").map(|cursor| parse_cursor(&access, cursor)).transpose()?,
        order: order(&params)?,
        limit,
        scan: MAX_SCANNED,
    };
    let page = access.audit_log(query).await?;
    let items = page.rows.iter().map(|row| item(&access, row)).collect::<Result<Vec<_>, _>>()?;
    let mut pagination = Map::from_iter([
        ("limit".to_owned(), json!(limit)),
        ("has_more".to_owned(), json!(page.next.is_some())),
    ]);
    if let Some(next) = page.next {
        pagination.insert("next_cursor".to_owned(), json!(cursor(&access, next)));
    }
    // With the cursor of the newest entry, a client can ask for those that follow.
    for (name, row) in [("first_cursor", page.rows.first()), ("last_cursor", page.rows.last())] {
        if let Some(row) = row {
            pagination.insert(name.to_owned(), json!(cursor(&access, row.number)));
        }
    }
    let mut body = json!({"items": items, "pagination": pagination});
    if access.is_operator() {
        body["head"] = json!(page.head);
    }
    Ok(reply::ok(&body))
}

/// An entry with its hash. Tenants see neither hash nor number, which would tell how many entries others
/// have.
fn item(access: &Access, row: &AuditRow) -> Result<Value, ApiError> {
    let mut entry: Map<String, Value> = serde_json::from_slice(&row.json).map_err(|error| {
        ApiError::busy(format!("Entry {} of the audit log cannot be read: {error}.", row.number))
    })?;
    if access.is_operator() {
        entry.insert("hash".to_owned(), json!(row.hash));
    } else {
        entry.remove("number");
    }
    Ok(Value::Object(entry))
}

/// The cursor behind an entry. A tenant's does not show the number.
fn cursor(access: &Access, number: u64) -> String {
    if access.is_operator() { number.to_string() } else { access.events().hidden_number(number) }
}

fn parse_cursor(access: &Access, cursor: &str) -> Result<u64, ApiError> {
    let number = match access.is_operator() {
        true => cursor.parse().ok(),
        false => access.events().revealed_number(cursor),
    };
    number.ok_or_else(|| {
        let text = format!("'cursor' is '{}', which is no cursor of this list.", excerpt(cursor));
        ApiError::invalid_request(text)
            .detail("field", "cursor")
            .hint("Use 'next_cursor' of the page before. A restart of the server ends a tenant's cursors.")
    })
}

fn text(params: &Params, name: &str) -> Result<Option<String>, ApiError> {
    let Some(text) = params.get(name) else { return Ok(None) };
    if text.len() > MAX_FILTER {
        let text = format!("'{name}' is longer than {MAX_FILTER} bytes.");
        return Err(ApiError::invalid_request(text).detail("field", name));
    }
    Ok(Some(text.to_owned()))
}

fn outcome(params: &Params) -> Result<Option<AuditOutcome>, ApiError> {
    let Some(text) = params.get("outcome") else { return Ok(None) };
    AuditOutcome::parse(text).map(Some).ok_or_else(|| {
        let text = format!("'outcome' is '{}'; it must be success or failure.", excerpt(text));
        ApiError::invalid_request(text).detail("field", "outcome")
    })
}

fn order(params: &Params) -> Result<Order, ApiError> {
    match params.get("order") {
        None | Some("desc") => Ok(Order::NewestFirst),
        Some("asc") => Ok(Order::OldestFirst),
        Some(other) => {
            let text = format!("'order' is '{}'; it must be asc or desc.", excerpt(other));
            Err(ApiError::invalid_request(text).detail("field", "order"))
        }
    }
}
