//! The contents of the `purge` table, to check that it lists every finished job.

use rota_model::{Millis, Seq};
use rusqlite::Connection;

use crate::internal_error::InternalError;
use crate::row;

/// Sequence numbers and purge times, sorted; 16 bytes per finished job.
pub(super) struct PurgeList(Vec<(Seq, Millis)>);

impl PurgeList {
    pub(super) fn read(conn: &Connection) -> Result<Self, InternalError> {
        let mut statement = conn.prepare("SELECT at, seqs FROM purge")?;
        let mut rows = statement.query([])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            let purge_at = Millis(row.get(0)?);
            let seqs = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            let seqs = seqs.split(',').filter_map(|seq| seq.parse().ok());
            entries.extend(seqs.map(|key| (row::seq(key), purge_at)));
        }
        entries.sort_unstable();
        Ok(Self(entries))
    }

    pub(super) fn has(&self, seq: Seq, purge_at: Millis) -> bool {
        self.0.binary_search(&(seq, purge_at)).is_ok()
    }
}
