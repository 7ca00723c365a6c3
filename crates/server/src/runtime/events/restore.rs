//! Reading the recent events back from the log, so that lists and streams go on where they were before a restart.

use rota_log::{Log, LogError};
use rota_store::encoding::{DecodeError, decode_events};

use super::{Events, record};

/// How many bytes of records are read at once.
const SLICE: usize = 4 << 20;

/// Why events could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("{0}")]
    Log(#[from] LogError),
    #[error("record {index}: {cause}")]
    Record { index: u64, cause: DecodeError },
}

impl Events {
    /// Takes in the events that the log still has.
    pub async fn restore(&self, log: &mut impl Log) -> Result<(), RestoreError> {
        let last = log.tip().index;
        let mut next = last.saturating_sub(self.capacity as u64).max(log.first());
        while next <= last {
            for entry in log.read(next, SLICE).await? {
                next = entry.index + 1;
                let damaged = |cause| RestoreError::Record { index: entry.index, cause };
                let (count, encoded) = decode_events(entry.payload).map_err(damaged)?;
                let events = record::decode(encoded).map_err(damaged)?;
                let before = count.checked_sub(events.len() as u64);
                let before = before.ok_or(damaged(DecodeError::Malformed("too many events")))?;
                self.publish(before + 1, events);
            }
        }
        Ok(())
    }
}
