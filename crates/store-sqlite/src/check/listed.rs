//! Which finished jobs retention will remove, and when.

use rota_model::{Millis, Seq};
use rusqlite::Connection;

use crate::fault::Fault;
use crate::row;

/// Sorted by the jobs' numbers: 16 bytes for each finished job.
pub(super) struct Listed(Vec<(Seq, Millis)>);

impl Listed {
    pub(super) fn read(conn: &Connection) -> Result<Self, Fault> {
        let mut statement = conn.prepare("SELECT at, seqs FROM purge")?;
        let mut rows = statement.query([])?;
        let mut listed = Vec::new();
        while let Some(row) = rows.next()? {
            let at = Millis(row.get(0)?);
            let seqs = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            let seqs = seqs.split(',').filter_map(|seq| seq.parse().ok());
            listed.extend(seqs.map(|key| (row::seq(key), at)));
        }
        listed.sort_unstable();
        Ok(Self(listed))
    }

    pub(super) fn has(&self, seq: Seq, at: Millis) -> bool {
        self.0.binary_search(&(seq, at)).is_ok()
    }
}
