//! The members of a stored entry that filters and checks look at.

use std::borrow::Cow;

use serde::Deserialize;

use crate::Millis;

/// A stored entry, as far as filters and checks need it.
#[derive(Debug, Deserialize)]
pub struct AuditSummary<'a> {
    /// What happened.
    #[serde(borrow)]
    pub event_type: Cow<'a, str>,
    /// `success` or `failure`.
    #[serde(borrow)]
    pub outcome: Cow<'a, str>,
    /// Who did it.
    #[serde(borrow)]
    pub principal: Cow<'a, str>,
    /// The caller's tenant.
    #[serde(default, borrow)]
    pub tenant_id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    timestamp: Cow<'a, str>,
}

impl<'a> AuditSummary<'a> {
    /// Reads an entry's JSON.
    pub fn parse(json: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// When the entry was written.
    #[must_use]
    pub fn at(&self) -> Option<Millis> {
        Millis::parse_rfc3339(&self.timestamp).ok()
    }

    /// Whether the event is of this type, or of one below it: `queue` includes `queue.pause`.
    #[must_use]
    pub fn is_action(&self, action: &str) -> bool {
        let rest = self.event_type.strip_prefix(action);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}
