//! Checking the audit log: every entry has the hash that follows from the entries before.

use rota_model::audit::{AuditFault, AuditHash, AuditHead, AuditRow, AuditSummary, AuditWalk};

use super::damage::{Damages, Rule};
use crate::internal_error::InternalError;
use crate::{OpenError, Snapshot, audit, migrate};

/// An intact audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditLog {
    pub head: AuditHead,
    /// Whether an entry has the hash that was asked for, or the deleted entry before the first.
    pub has_expected: bool,
}

/// Walks along the audit log, and looks for an entry with the hash `expected`.
pub fn verify_audit_log(
    snapshot: &Snapshot,
    expected: Option<AuditHash>,
) -> Result<Result<AuditLog, AuditFault>, OpenError> {
    walk(snapshot, expected).map_err(|error| error.into_open_error(snapshot.path()))
}

fn walk(
    snapshot: &Snapshot,
    expected: Option<AuditHash>,
) -> Result<Result<AuditLog, AuditFault>, InternalError> {
    if snapshot.format() < migrate::IDENTITY {
        return Ok(Ok(AuditLog { head: AuditHead::default(), has_expected: false }));
    }
    let Ok(head) = audit::head(snapshot.conn()) else { return Ok(Err(AuditFault::NoHead(1))) };
    let mut walk = match AuditWalk::start(&head) {
        Ok(walk) => walk,
        Err(fault) => return Ok(Err(fault)),
    };
    let mut has_expected = expected == Some(head.anchor);
    let mut statement = snapshot
        .conn()
        .prepare("SELECT number, at, tenant, json, hash FROM audit ORDER BY number")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Ok(entry) = audit::entry(row) else {
            return Ok(Err(AuditFault::Changed(row.get::<_, i64>(0)? as u64)));
        };
        if let Err(fault) = walk.step(entry.number, &entry.json, entry.hash) {
            return Ok(Err(fault));
        }
        if !columns_agree(&entry) {
            return Ok(Err(AuditFault::Changed(entry.number)));
        }
        has_expected |= expected == Some(entry.hash);
    }
    Ok(walk.finish(&head).map(|()| AuditLog { head, has_expected }))
}

/// Whether the columns beside an entry's JSON, which the hash does not cover, repeat what it says.
fn columns_agree(entry: &AuditRow) -> bool {
    AuditSummary::parse(&entry.json).is_ok_and(|said| {
        said.at() == Some(entry.at) && said.tenant_id.as_deref() == entry.tenant.as_deref()
    })
}

pub(super) fn check(snapshot: &Snapshot, damages: &mut Damages) -> Result<(), InternalError> {
    if let Err(fault) = walk(snapshot, None)? {
        damages.found(Rule::AuditLog, fault);
    }
    Ok(())
}
