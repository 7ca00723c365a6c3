//! Successful sign-ins: one entry for each subject and hour.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, RandomState};

use rota_model::Millis;
use rota_model::audit::{AuditActor, AuditDetail, AuditNote, AuditOutcome};

const HOUR_MS: i64 = 3_600_000;
/// The most subjects with an entry of their own in one hour.
const MAX_SUBJECTS: usize = 10_000;

/// Who has signed in this hour.
#[derive(Default)]
pub(super) struct SignIns {
    hour: i64,
    hasher: RandomState,
    /// Hashes of method, subject and tenant. The address is not part of it: the entry has the first one.
    seen: HashSet<u64>,
    /// Whether an entry said that there are more than that.
    has_said_others: bool,
}

impl SignIns {
    /// The entry to be written, if this is the subject's first request in this hour.
    pub fn note(
        &mut self,
        subject: impl Hash,
        actor: impl FnOnce() -> AuditActor,
        now: Millis,
    ) -> Option<AuditNote> {
        let hour = now.0.div_euclid(HOUR_MS);
        if hour != self.hour {
            *self = Self { hour, ..Self::default() };
        }
        let key = self.hasher.hash_one(subject);
        if self.seen.contains(&key) {
            return None;
        }
        if self.seen.len() < MAX_SUBJECTS {
            self.seen.insert(key);
            return Some(note(actor()));
        }
        if std::mem::replace(&mut self.has_said_others, true) {
            return None;
        }
        Some(note(AuditActor {
            principal: "others".into(),
            tenant: None,
            address: None,
            ..actor()
        }))
    }
}

fn note(actor: AuditActor) -> AuditNote {
    AuditNote {
        event: "auth.login_success".into(),
        outcome: AuditOutcome::Success,
        actor,
        request: None,
        detail: AuditDetail::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actor(principal: &str) -> AuditActor {
        AuditActor {
            principal: principal.to_owned().into(),
            method: "api_key".into(),
            tenant: None,
            address: None,
        }
    }

    #[test]
    fn a_subject_has_one_entry_per_hour() {
        let mut sign_ins = SignIns::default();
        let mut is_noted = |name: &str, hour| {
            sign_ins.note(name, || actor(name), Millis(hour * HOUR_MS)).is_some()
        };
        assert_eq!([is_noted("a", 1), is_noted("a", 1), is_noted("b", 1)], [true, false, true]);
        assert_eq!([is_noted("a", 2), is_noted("a", 2)], [true, false]);
    }

    #[test]
    fn the_number_of_entries_per_hour_is_bounded() {
        let mut sign_ins = SignIns::default();
        let entries: Vec<_> = (0..MAX_SUBJECTS + 100)
            .filter_map(|n| sign_ins.note(n, || actor(&n.to_string()), Millis(0)))
            .collect();
        assert_eq!(entries.len(), MAX_SUBJECTS + 1);
        assert_eq!(entries[MAX_SUBJECTS].actor.principal, "others");
    }
}
