//! Queries that list the audit log page by page.

use rota_model::audit::{AuditHead, AuditOutcome, AuditRow};
use rota_model::{Millis, TenantId};

use crate::Order;

/// Selects one page of the audit log.
#[derive(Debug, Clone)]
pub struct AuditQuery {
    /// Only entries of callers of this tenant.
    pub tenant: Option<TenantId>,
    /// Lower bound on the time of the entry, inclusive.
    pub since: Option<Millis>,
    /// Upper bound on the time of the entry, exclusive.
    pub until: Option<Millis>,
    /// Only entries of this principal.
    pub subject: Option<String>,
    /// Only entries of this event type, or of those that begin with it and a dot.
    pub action: Option<String>,
    pub outcome: Option<AuditOutcome>,
    /// The cursor of the previous page: the number of the last entry that was read for it.
    pub after: Option<u64>,
    pub order: Order,
    /// Maximum number of entries on the page.
    pub limit: usize,
    /// Maximum number of entries to read for the page, which then ends early with a cursor.
    pub scan: usize,
}

impl AuditQuery {
    /// All entries, `limit` of them on a page.
    #[must_use]
    pub fn all(order: Order, limit: usize) -> Self {
        Self {
            tenant: None,
            since: None,
            until: None,
            subject: None,
            action: None,
            outcome: None,
            after: None,
            order,
            limit,
            scan: limit,
        }
    }
}

/// One page of the audit log.
#[derive(Debug, Clone, Default)]
pub struct AuditPage {
    pub rows: Vec<AuditRow>,
    /// Where the log begins and ends, as of the moment of this read.
    pub head: AuditHead,
    /// The cursor for the next page; `None` on the last page. A short or even empty page can have a
    /// cursor.
    pub next: Option<u64>,
}
