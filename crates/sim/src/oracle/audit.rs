//! The audit log as it should be: every act that changed something is in it, in order, and nothing else.

use std::collections::BTreeMap;

use rota_engine::{Command, Reply};
use rota_model::Millis;
use rota_model::audit::{AuditNote, AuditRow};
use rota_store::RowKind;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::step_context::StepContext;
use super::violation::{Check, Rule, ensure};
use super::world::World;
use crate::MemoryStore;
use crate::runtime::Step;

/// The entries that are kept, and the hash before the first.
#[derive(Clone, Default)]
pub struct AuditLog {
    entries: BTreeMap<u64, (Millis, [u8; 32])>,
    anchor: [u8; 32],
    last_number: u64,
}

impl AuditLog {
    fn last_hash(&self) -> [u8; 32] {
        self.entries.last_key_value().map_or(self.anchor, |(_, (_, hash))| *hash)
    }
}

/// What a step must add to the log, in this order.
pub(super) fn expected(step: &Step) -> Vec<&AuditNote> {
    if let Command::Audit(notes) = &step.command {
        return notes.iter().collect();
    }
    let changed = match &step.reply {
        Reply::Refused(_) => false,
        Reply::Changed(all) => all.iter().any(Result::is_ok),
        _ => true,
    };
    step.note.iter().filter(|_| changed).collect()
}

impl World {
    pub(super) fn audit_entry(&mut self, row: &AuditRow, expected: Option<&&AuditNote>) -> Check {
        let Some(note) = expected else {
            return ensure(false, Rule::Audit, || format!("entry {} of nothing", row.number));
        };
        let hash: [u8; 32] = Sha256::new()
            .chain_update(self.audit.last_hash())
            .chain_update(&row.json)
            .finalize()
            .into();
        ensure(row.hash.as_bytes() == &hash, Rule::Audit, || {
            format!("entry {} does not follow from the one before", row.number)
        })?;
        let number = self.audit.last_number + 1;
        ensure(row.number == number && row.at == self.wall, Rule::Audit, || {
            format!("entry {number} is {} at {:?}, not {:?}", row.number, row.at, self.wall)
        })?;
        let json: Value = serde_json::from_slice(&row.json).unwrap_or_default();
        let said = json["number"] == number
            && json["principal"] == *note.actor.principal
            && json["event_type"] == *note.event
            && json["outcome"] == note.outcome.as_str()
            && json["correlation_id"].as_str() == note.request.as_deref()
            && json["tenant_id"].as_str() == note.actor.tenant.as_deref()
            && row.tenant == note.actor.tenant;
        ensure(said, Rule::Audit, || format!("entry {number} of {note:?} says {json}"))?;
        self.audit.entries.insert(number, (row.at, hash));
        self.audit.last_number = number;
        Ok(())
    }

    /// Only what is too old or too many goes, and only when it is looked for.
    pub(super) fn trim_audit(&mut self, through: u64, context: &mut StepContext<'_>) -> Check {
        ensure(matches!(context.step.command, Command::TrimAudit(_)), Rule::Unasked, || {
            "nobody asked to trim the audit log".into()
        })?;
        let limits = self.config.audit;
        while let Some((&number, &(at, hash))) = self.audit.entries.first_key_value() {
            if number > through {
                break;
            }
            let too_many = self.audit.entries.len() as u64 > limits.max_entries;
            let too_old = self.wall.since(at) > limits.max_age_ms as i64;
            ensure(too_many || too_old, Rule::Audit, || format!("entry {number} went too early"))?;
            self.audit.entries.pop_first();
            self.audit.anchor = hash;
            context.trimmed += 1;
        }
        Ok(())
    }

    /// The store has exactly these entries, and knows where they begin and end.
    pub(super) fn check_audit(&self, store: &MemoryStore) -> Check {
        let kept = self.audit.entries.iter().map(|(number, (at, hash))| (*number, *at, *hash));
        let stored = store.audit_rows().map(|row| (row.number, row.at, *row.hash.as_bytes()));
        ensure(kept.eq(stored), Rule::Audit, || "the store has another audit log".into())?;
        let Some(head) = store.named_row(RowKind::Setting, "audit_log") else {
            return ensure(self.audit.last_number == 0, Rule::Audit, || "no head is stored".into());
        };
        let head: Value = serde_json::from_slice(head).unwrap_or_default();
        let hex =
            |hash: [u8; 32]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let next = self.audit.last_number + 1;
        let first = self.audit.entries.keys().next().copied().unwrap_or(next);
        let right = head["first"] == first
            && head["next"] == next
            && head["anchor"] == hex(self.audit.anchor)
            && head["last"] == hex(self.audit.last_hash());
        ensure(right, Rule::Audit, || format!("the head {head} is not of {first}..{next}"))
    }
}
