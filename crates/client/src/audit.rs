//! The audit log.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Client, Error, Page, PageAt, WithJson};

/// Selects entries of the audit log. Fields that are `None` select all.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Entries since this time, RFC 3339.
    pub since: Option<String>,
    /// Entries before this time, RFC 3339.
    pub until: Option<String>,
    /// Entries of this principal.
    pub subject: Option<String>,
    /// Entries of callers of this tenant.
    pub tenant: Option<String>,
    /// Entries of this event type; `queue` includes `queue.pause`.
    pub action: Option<String>,
    /// `success` or `failure`.
    pub outcome: Option<String>,
    /// From the oldest to the newest, instead of the other way round.
    pub oldest_first: bool,
}

/// An entry of the audit log.
#[derive(Debug, Clone, Deserialize)]
pub struct AuditEntry {
    /// Consecutive. Only operators are told.
    pub number: Option<u64>,
    /// When it was written, RFC 3339.
    pub timestamp: String,
    /// What happened, such as `queue.pause`.
    pub event_type: String,
    /// `success` or `failure`.
    pub outcome: String,
    /// Who did it.
    pub principal: String,
    /// The tenant of the caller; `None` for operators.
    pub tenant_id: Option<String>,
    /// Where the request came from.
    pub source_ip: Option<String>,
    /// The id of the request.
    pub correlation_id: Option<String>,
    /// Method, route, the thing named, status, reason and counts.
    #[serde(default)]
    pub detail: Map<String, Value>,
    /// SHA-256 of this entry and all before it, in hexadecimal digits. Only operators are told.
    pub hash: Option<String>,
}

/// A page of the audit log.
#[derive(Debug, Clone)]
pub struct AuditPage {
    /// The entries, and where the next page begins.
    pub page: Page<WithJson<AuditEntry>>,
    /// The cursor of the first entry of this page.
    pub first_cursor: Option<String>,
    /// The cursor of the last entry of this page.
    pub last_cursor: Option<String>,
    /// Where the log begins and ends, as JSON. Only operators are told.
    pub head: Option<Value>,
}

impl Client {
    /// Reads a page of the audit log.
    pub async fn audit_log(
        &self,
        filter: &AuditFilter,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<AuditPage, Error> {
        #[derive(Deserialize)]
        struct Answer {
            items: Vec<WithJson<AuditEntry>>,
            pagination: Value,
            head: Option<Value>,
        }
        let endpoint = self
            .endpoint(&["admin", "audit"])
            .query("since", filter.since.as_ref())
            .query("until", filter.until.as_ref())
            .query("subject", filter.subject.as_ref())
            .query("tenant", filter.tenant.as_ref())
            .query("action", filter.action.as_ref())
            .query("outcome", filter.outcome.as_ref())
            .query("order", filter.oldest_first.then_some("asc"))
            .query("limit", Some(limit))
            .query("cursor", at.and_then(PageAt::cursor));
        let answer: Answer = self.get(endpoint).await?.read()?;
        let text = |name: &str| answer.pagination[name].as_str().map(str::to_owned);
        let next = text("next_cursor").map(PageAt::Cursor);
        let (first_cursor, last_cursor) = (text("first_cursor"), text("last_cursor"));
        let page = Page { items: answer.items, next, total: None };
        Ok(AuditPage { page, first_cursor, last_cursor, head: answer.head })
    }
}
