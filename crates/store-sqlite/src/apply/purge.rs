//! The `purge` table, which lists finished jobs by the time at which retention may delete them.

use std::fmt::Write;

use rota_model::{Millis, Seq};

use super::Applier;
use crate::internal_error::InternalError;
use crate::row::key;

impl Applier<'_> {
    pub(super) fn schedule_purge(&mut self, purge_at: Millis, seq: Seq) {
        let seqs = self.purges.entry(purge_at.0).or_default();
        let comma = if seqs.is_empty() { "" } else { "," };
        write!(seqs, "{comma}{}", key(seq)).expect("writing to a string succeeds");
    }

    /// Writes one row per purge time. The jobs of a batch finish within a few milliseconds, so there
    /// are few.
    pub(super) fn write_purge_rows(&mut self) -> Result<(), InternalError> {
        for (purge_at, seqs) in std::mem::take(&mut self.purges) {
            self.run(
                "INSERT INTO purge (at, seqs) VALUES (?1, ?2) \
                 ON CONFLICT (at) DO UPDATE SET seqs = seqs || ',' || ?2",
                (purge_at, seqs),
            )?;
        }
        Ok(())
    }

    pub(super) fn delete_purge_rows(&self, through: Millis) -> Result<(), InternalError> {
        self.run("DELETE FROM purge WHERE at <= ?1", [through.0]).map(drop)
    }
}
