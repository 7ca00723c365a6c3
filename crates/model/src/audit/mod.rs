//! The audit log: what an entry says, its canonical JSON, and the chain of hashes.

mod chain;
mod entry;
mod summary;

pub use chain::{AuditFault, AuditHash, AuditHead, AuditWalk, BadAuditHash};
pub use entry::{AuditActor, AuditDetail, AuditNote, AuditOutcome, canonical_json};
pub use summary::AuditSummary;

use bytes::Bytes;

use crate::{Millis, TenantId};

/// A stored entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Consecutive from 1.
    pub number: u64,
    /// When the entry was written. It never decreases from one entry to the next.
    pub at: Millis,
    /// The tenant of the caller; `None` for operators and unknown callers.
    pub tenant: Option<TenantId>,
    /// The entry in canonical JSON: members sorted by name, no spaces, no fractions (RFC 8785).
    pub json: Bytes,
    /// SHA-256 of the previous entry's hash and `json`.
    pub hash: AuditHash,
}

/// What retention needs to know of a stored entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditStub {
    /// The entry's number.
    pub number: u64,
    /// When the entry was written.
    pub at: Millis,
    /// The entry's hash.
    pub hash: AuditHash,
}
