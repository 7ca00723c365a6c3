//! Conversion between SQLite rows and the model. Unsigned 64-bit numbers are stored as signed numbers
//! with the same bits.

use bytes::Bytes;
use rota_model::{
    ClassId, DeadRow, DeadShardId, Done, Ending, Live, Millis, PoolName, Seq, State, WorkerId,
};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::internal_error::InternalError;

pub(crate) fn key(seq: Seq) -> i64 {
    seq.0 as i64
}

pub(crate) fn seq(key: i64) -> Seq {
    Seq(key as u64)
}

pub(crate) fn optional_millis(time: Option<Millis>) -> Option<i64> {
    time.map(|time| time.0)
}

/// The columns that [`live`] reads.
pub(crate) const LIVE: &str = "seq, class, state, attempt, enqueued, due, started, expires, \
     worker, reserved_ms, held, bytes, pauses, pool";

pub(crate) fn live(row: &Row<'_>) -> Result<Live, InternalError> {
    let state: u8 = row.get(2)?;
    Ok(Live {
        seq: seq(row.get(0)?),
        class: ClassId(row.get(1)?),
        state: State::from_code(state)
            .filter(|state| !state.is_terminal())
            .ok_or_else(|| InternalError::Corrupt(format!("a living job has the state {state}")))?,
        attempt: row.get(3)?,
        enqueued: Millis(row.get(4)?),
        due: millis(row, 5)?,
        started: millis(row, 6)?,
        expires: millis(row, 7)?,
        worker: worker(row, 8)?,
        reserved_ms: row.get::<_, i64>(9)? as u64,
        marked: row.get(10)?,
        bytes: row.get(11)?,
        pauses: row.get(12)?,
        pool: pool(row, 13)?,
    })
}

/// The columns that [`done`] reads, followed by [`DONE_BYTES`]. The result is left out, because
/// reading it may cost many pages.
pub(crate) const DONE: &str =
    "seq, class, ending, at, attempt, enqueued, started, expires, purge_at";

/// The size of the body. SQLite computes it without reading the body itself.
pub(crate) const DONE_BYTES: &str = "(SELECT length(body) FROM jobs WHERE jobs.seq = done.seq)";

pub(crate) fn done(row: &Row<'_>) -> Result<Done, InternalError> {
    let ending: u8 = row.get(2)?;
    Ok(Done {
        seq: seq(row.get(0)?),
        class: ClassId(row.get(1)?),
        ending: Ending::from_code(ending).ok_or_else(|| {
            InternalError::Corrupt(format!("a finished job has the ending {ending}"))
        })?,
        at: Millis(row.get(3)?),
        attempt: row.get(4)?,
        enqueued: Millis(row.get(5)?),
        started: millis(row, 6)?,
        expires: millis(row, 7)?,
        purge_at: millis(row, 8)?,
        bytes: row.get(9)?,
        result: None,
        dead: None,
    })
}

/// The columns that [`dead`] reads.
pub(crate) const DEAD: &str = "shard, error, other, replay_at";

pub(crate) fn dead(row: &Row<'_>) -> Result<DeadRow, InternalError> {
    Ok(DeadRow {
        shard: DeadShardId(row.get(0)?),
        error: row.get(1)?,
        other: row.get(2)?,
        replay_at: millis(row, 3)?,
    })
}

pub(crate) fn bytes(row: &Row<'_>, column: usize) -> Result<Bytes, InternalError> {
    Ok(Bytes::copy_from_slice(row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?))
}

fn millis(row: &Row<'_>, column: usize) -> Result<Option<Millis>, InternalError> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Millis))
}

fn worker(row: &Row<'_>, column: usize) -> Result<Option<WorkerId>, InternalError> {
    let Some(name) = text(row, column)? else { return Ok(None) };
    let worker = WorkerId::stored(name)
        .map_err(|error| InternalError::Corrupt(format!("the name of a worker {error}")))?;
    Ok(Some(worker))
}

fn pool(row: &Row<'_>, column: usize) -> Result<Option<PoolName>, InternalError> {
    let Some(name) = text(row, column)? else { return Ok(None) };
    let pool = PoolName::stored(name)
        .map_err(|error| InternalError::Corrupt(format!("the name of a pool {error}")))?;
    Ok(Some(pool))
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<Option<&'r str>, InternalError> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(value.as_str().map_err(rusqlite::Error::from)?)),
    }
}
