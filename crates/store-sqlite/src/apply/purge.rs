//! The list of what retention may remove.

use std::fmt::Write;

use rota_model::{Millis, Seq};

use super::Applier;
use crate::fault::Fault;
use crate::row::key;

impl Applier<'_> {
    pub(super) fn will_purge(&mut self, at: Millis, seq: Seq) {
        let seqs = self.purges.entry(at.0).or_default();
        let comma = if seqs.is_empty() { "" } else { "," };
        write!(seqs, "{comma}{}", key(seq)).expect("a string takes any text");
    }

    /// A batch is decided within a moment or two, so this is a row or two.
    pub(super) fn note_purges(&mut self) -> Result<(), Fault> {
        for (at, seqs) in std::mem::take(&mut self.purges) {
            self.run(
                "INSERT INTO purge (at, seqs) VALUES (?1, ?2) \
                 ON CONFLICT (at) DO UPDATE SET seqs = seqs || ',' || ?2",
                (at, seqs),
            )?;
        }
        Ok(())
    }

    pub(super) fn sweep(&self, through: Millis) -> Result<(), Fault> {
        self.run("DELETE FROM purge WHERE at <= ?1", [through.0]).map(drop)
    }
}
