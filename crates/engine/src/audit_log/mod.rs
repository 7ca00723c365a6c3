//! The audit log: numbers and chains its entries, and decides which old ones may go.

mod about;

use rota_model::Millis;
use rota_model::audit::{AuditHead, AuditNote, AuditRow, AuditStub};
use rota_model::mutation::{Mutation, RowKind};

use crate::{Command, Engine, Reply};

/// How much of the audit log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditLimits {
    /// Entries that are older are deleted, in ms.
    pub max_age_ms: u64,
    /// The most entries. Beyond it, the oldest are deleted.
    pub max_entries: u64,
}

impl Default for AuditLimits {
    fn default() -> Self {
        Self { max_age_ms: 365 * 86_400_000, max_entries: 1_000_000 }
    }
}

/// Where the log begins and ends. The entries are in the store only.
#[derive(Debug, Default)]
pub(crate) struct AuditLog {
    head: AuditHead,
    /// When the oldest entry was written, if that is known.
    oldest: Option<Millis>,
}

/// The reply to an act, and whether it is in the audit log.
#[derive(Debug)]
pub struct Audited {
    pub reply: Reply,
    /// Whether the command did something. Doing what had been done already counts.
    pub has_changed: bool,
    /// Whether an entry was written.
    pub is_recorded: bool,
    /// How many jobs the act changed.
    pub jobs: u64,
}

impl AuditLog {
    pub(crate) fn restore(&mut self, head: AuditHead) -> Result<(), String> {
        if !head.is_sound() {
            return Err("its numbers do not fit together".into());
        }
        self.head = head;
        Ok(())
    }

    fn append(&mut self, note: &AuditNote, at: Millis) -> Mutation {
        let number = self.head.next;
        let json = note.canonical(number, at);
        let hash = self.head.last.followed_by(&json);
        (self.head.next, self.head.last) = (number + 1, hash);
        Mutation::Audit(Box::new(AuditRow {
            number,
            at,
            tenant: note.actor.tenant.clone(),
            json,
            hash,
        }))
    }

    fn is_trim_due(&self, limits: AuditLimits, now: Millis) -> bool {
        let max_age = i64::try_from(limits.max_age_ms).unwrap_or(i64::MAX);
        let is_old = self.oldest.is_none_or(|at| now.since(at) > max_age);
        !self.head.is_empty() && (is_old || self.head.len() > limits.max_entries)
    }

    /// The last of these entries, the oldest of the log, that is too old or too many.
    fn last_expired(
        &self,
        oldest: &[AuditStub],
        limits: AuditLimits,
        now: Millis,
    ) -> Option<AuditStub> {
        let max_age = i64::try_from(limits.max_age_ms).unwrap_or(i64::MAX);
        let excess_below = self.head.next.saturating_sub(limits.max_entries);
        oldest
            .iter()
            // The store may not have committed the last deletion yet.
            .skip_while(|stub| stub.number < self.head.first)
            .take_while(|stub| stub.number < excess_below || now.since(stub.at) > max_age)
            .last()
            .copied()
    }
}

impl Engine {
    /// Applies a command of an act. If it changes something, writes the entry `note`, if there is one, in
    /// the same batch. The entry gets what the command says beyond that: the thing it names, the reason,
    /// and the number of jobs.
    pub fn apply_audited(
        &mut self,
        entropy: u64,
        command: Command,
        note: Option<AuditNote>,
    ) -> Audited {
        let note = note.map(|mut note| {
            about::describe(&command, &mut note.detail);
            note
        });
        let reply = self.apply(entropy, command);
        let (jobs, has_changed) = (about::jobs_changed(&reply), about::has_changed(&reply));
        let note = note.filter(|_| has_changed);
        let is_recorded = note.is_some();
        if let Some(mut note) = note {
            if jobs > 0 {
                note.detail.insert("jobs".into(), jobs.into());
            }
            self.write_audit_notes(&[note]);
        }
        Audited { reply, has_changed, is_recorded, jobs }
    }

    /// Whether [`Command::TrimAudit`] may find something to delete.
    #[must_use]
    pub fn is_audit_trim_due(&self) -> bool {
        self.audit_log.is_trim_due(self.config.audit, self.wall())
    }

    /// Where the audit log begins and ends. It may contain entries that are not committed yet.
    #[must_use]
    pub fn audit_head(&self) -> AuditHead {
        self.audit_log.head
    }

    pub(crate) fn write_audit_notes(&mut self, notes: &[AuditNote]) -> Reply {
        let at = self.wall();
        for note in notes {
            let entry = self.audit_log.append(note, at);
            self.out.mutations.push(entry);
        }
        if !notes.is_empty() {
            self.write_audit_head();
        }
        Reply::Done
    }

    pub(crate) fn trim_audit_log(&mut self, oldest: &[AuditStub]) -> Reply {
        let expired = self.audit_log.last_expired(oldest, self.config.audit, self.wall());
        let first_left = expired.map_or(self.audit_log.head.first, |last| last.number + 1);
        let left = oldest.iter().find(|stub| stub.number == first_left);
        self.audit_log.oldest = left.map(|stub| stub.at);
        let Some(last) = expired else { return Reply::Forgotten(0) };
        let head = &mut self.audit_log.head;
        let count = last.number + 1 - head.first;
        (head.first, head.anchor) = (last.number + 1, last.hash);
        self.out.mutations.push(Mutation::TrimAudit(last.number));
        self.write_audit_head();
        Reply::Forgotten(count as usize)
    }

    fn write_audit_head(&mut self) {
        let head = self.audit_log.head;
        self.put(RowKind::Setting, AuditHead::ROW, &head);
    }
}
