//! Reading the audit log: pages, the oldest entries, and where it begins and ends.

use rota_model::audit::{AuditHash, AuditHead, AuditRow, AuditStub, AuditSummary};
use rota_model::{Millis, TenantId};
use rota_store::{AuditPage, AuditQuery, Order, RowKind};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::internal_error::InternalError;
use crate::row;

pub(crate) fn list(conn: &Connection, query: &AuditQuery) -> Result<AuditPage, InternalError> {
    let (from, to) = bounds(conn, query)?;
    let mut page = AuditPage { head: head(conn)?, ..AuditPage::default() };
    if from > to || query.limit == 0 {
        return Ok(page);
    }
    let order = match query.order {
        Order::OldestFirst => "ASC",
        Order::NewestFirst => "DESC",
    };
    // One more than the page may read, to know whether there is another page.
    let scan = query.scan.max(1);
    let columns = "SELECT number, at, tenant, json, hash FROM audit";
    let range = "number BETWEEN ?1 AND ?2";
    let sql = match query.tenant {
        Some(_) => format!(
            "{columns} INDEXED BY audit_tenant WHERE tenant = ?4 AND {range} \
             ORDER BY number {order} LIMIT ?3"
        ),
        None => format!("{columns} WHERE {range} ORDER BY number {order} LIMIT ?3"),
    };
    let mut statement = conn.prepare_cached(&sql)?;
    statement.raw_bind_parameter(1, from)?;
    statement.raw_bind_parameter(2, to)?;
    statement.raw_bind_parameter(3, scan.saturating_add(1).min(i64::MAX as usize) as i64)?;
    if let Some(tenant) = &query.tenant {
        statement.raw_bind_parameter(4, &**tenant)?;
    }
    let mut rows = statement.raw_query();
    let (mut read, mut last) = (0, 0);
    while let Some(row) = rows.next()? {
        if read == scan || page.rows.len() == query.limit {
            page.next = Some(last);
            break;
        }
        let entry = entry(row)?;
        (read, last) = (read + 1, entry.number);
        if matches(query, &entry)? {
            page.rows.push(entry);
        }
    }
    Ok(page)
}

/// The numbers of the first and the last entry that the page may have. Times never decrease from one
/// entry to the next, so bounds on time are bounds on numbers.
fn bounds(conn: &Connection, query: &AuditQuery) -> Result<(i64, i64), InternalError> {
    let first_at = |time: Millis| {
        conn.prepare_cached("SELECT number FROM audit WHERE at >= ?1 ORDER BY at, number LIMIT 1")?
            .query_row([time.0], |row| row.get::<_, i64>(0))
            .optional()
    };
    let (mut from, mut to) = (1, i64::MAX);
    if let Some(since) = query.since {
        from = first_at(since)?.unwrap_or(i64::MAX);
    }
    if let Some(until) = query.until {
        to = first_at(until)?.map_or(i64::MAX, |number| number - 1);
    }
    if let Some(after) = query.after.map(|after| i64::try_from(after).unwrap_or(i64::MAX)) {
        match query.order {
            Order::OldestFirst => from = from.max(after.saturating_add(1)),
            Order::NewestFirst => to = to.min(after - 1),
        }
    }
    Ok((from, to))
}

fn matches(query: &AuditQuery, entry: &AuditRow) -> Result<bool, InternalError> {
    if query.subject.is_none() && query.action.is_none() && query.outcome.is_none() {
        return Ok(true);
    }
    let said = AuditSummary::parse(&entry.json).map_err(|error| {
        InternalError::Corrupt(format!("entry {} of the audit log: {error}", entry.number))
    })?;
    Ok(query.subject.as_ref().is_none_or(|subject| *subject == said.principal)
        && query.action.as_ref().is_none_or(|action| said.is_action(action))
        && query.outcome.is_none_or(|outcome| outcome.as_str() == said.outcome))
}

pub(crate) fn oldest(conn: &Connection, limit: usize) -> Result<Vec<AuditStub>, InternalError> {
    conn.prepare_cached("SELECT number, at, hash FROM audit ORDER BY number LIMIT ?1")?
        .query_and_then([limit as i64], |row| {
            let number = row.get::<_, i64>(0)? as u64;
            Ok(AuditStub { number, at: Millis(row.get(1)?), hash: hash(row, 2, number)? })
        })?
        .collect()
}

/// Where the log begins and ends.
pub(crate) fn head(conn: &Connection) -> Result<AuditHead, InternalError> {
    let json: Option<Vec<u8>> = conn
        .prepare_cached("SELECT json FROM named WHERE kind = ?1 AND name = ?2")?
        .query_row((RowKind::Setting.code(), AuditHead::ROW), |row| row.get(0))
        .optional()?;
    let Some(json) = json else { return Ok(AuditHead::default()) };
    serde_json::from_slice(&json)
        .map_err(|error| InternalError::Corrupt(format!("the head of the audit log: {error}")))
}

pub(crate) fn entry(row: &Row<'_>) -> Result<AuditRow, InternalError> {
    let number = row.get::<_, i64>(0)? as u64;
    let tenant: Option<String> = row.get(2)?;
    let tenant = tenant.map(|id| TenantId::parse(&id)).transpose().map_err(|error| {
        InternalError::Corrupt(format!("the tenant of entry {number} of the audit log {error}"))
    })?;
    let (at, json) = (Millis(row.get(1)?), row::bytes(row, 3)?);
    Ok(AuditRow { number, at, tenant, json, hash: hash(row, 4, number)? })
}

fn hash(row: &Row<'_>, column: usize, number: u64) -> Result<AuditHash, InternalError> {
    let bytes = row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?;
    AuditHash::from_bytes(bytes).map_err(|error| {
        InternalError::Corrupt(format!("the hash of entry {number} of the audit log {error}"))
    })
}
