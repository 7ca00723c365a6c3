//! State changes of a single live job: extend, back off, postpone, make ready.

use rota_model::{Millis, Seq};
use rota_store::{Backoff, Ready};

use super::Applier;
use super::jobs::expect_one;
use crate::internal_error::InternalError;
use crate::row::key;

impl Applier<'_> {
    pub(super) fn extend(
        &self,
        seq: Seq,
        due: Millis,
        reserved_ms: u64,
    ) -> Result<(), InternalError> {
        let changed = self.run(
            "UPDATE live SET due = ?2, reserved_ms = ?3 WHERE seq = ?1",
            (key(seq), due.0, reserved_ms as i64),
        )?;
        expect_one(changed, "extend", seq)
    }

    pub(super) fn request_cancel(&self, seq: Seq) -> Result<(), InternalError> {
        let changed = self.run("UPDATE live SET held = 1 WHERE seq = ?1", [key(seq)])?;
        expect_one(changed, "request the cancellation of", seq)
    }

    pub(super) fn back_off(&self, backoff: &Backoff) -> Result<(), InternalError> {
        let Backoff { seq, due, undo } = *backoff;
        let changed = self.run(
            "UPDATE live SET state = 5, due = ?2, attempt = coalesce(?3, attempt), \
             pauses = coalesce(?4, pauses), worker = NULL, pool = NULL, \
             reserved_ms = 0 WHERE seq = ?1",
            (key(seq), due.0, undo.map(|undo| undo.attempt), undo.map(|undo| undo.pauses)),
        )?;
        expect_one(changed, "back off", seq)
    }

    pub(super) fn postpone(&self, seq: Seq, due: Millis) -> Result<(), InternalError> {
        let changed = self.run(
            "UPDATE live SET state = 0, due = ?2, held = 1 WHERE seq = ?1 \
             AND (state = 1 OR state = 0 AND held = 1)",
            (key(seq), due.0),
        )?;
        expect_one(changed, "postpone", seq)
    }

    pub(super) fn make_ready(&self, ready: &Ready) -> Result<(), InternalError> {
        let changed = self.run(
            "UPDATE live SET state = 1, enqueued = ?2, attempt = coalesce(?3, attempt), \
             pauses = coalesce(?4, pauses), held = ?5, due = NULL, worker = NULL, pool = NULL, \
             reserved_ms = 0 WHERE seq = ?1",
            (
                key(ready.seq),
                ready.enqueued.0,
                ready.undo.map(|undo| undo.attempt),
                ready.undo.map(|undo| undo.pauses),
                ready.held,
            ),
        )?;
        expect_one(changed, "make ready", ready.seq)
    }
}
