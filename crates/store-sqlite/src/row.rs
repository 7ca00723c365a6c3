//! Rows as SQLite keeps them. Unsigned numbers are kept by their bits.

use bytes::Bytes;
use rota_model::{ClassId, Done, Ending, Live, Millis, PoolName, Seq, State, WorkerId};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::fault::Fault;

pub(crate) fn key(seq: Seq) -> i64 {
    seq.0 as i64
}

pub(crate) fn seq(key: i64) -> Seq {
    Seq(key as u64)
}

pub(crate) fn when(at: Option<Millis>) -> Option<i64> {
    at.map(|at| at.0)
}

pub(crate) const LIVE: &str = "seq, class, state, attempt, enqueued, due, started, expires, \
     worker, reserved_ms, held, bytes, pauses, pool";

pub(crate) fn live(row: &Row<'_>) -> Result<Live, Fault> {
    let state: u8 = row.get(2)?;
    Ok(Live {
        seq: seq(row.get(0)?),
        class: ClassId(row.get(1)?),
        state: State::from_code(state)
            .filter(|state| !state.is_terminal())
            .ok_or_else(|| Fault::Damaged(format!("a living job has the state {state}")))?,
        attempt: row.get(3)?,
        enqueued: Millis(row.get(4)?),
        due: millis(row, 5)?,
        started: millis(row, 6)?,
        expires: millis(row, 7)?,
        worker: worker(row, 8)?,
        reserved_ms: row.get::<_, i64>(9)? as u64,
        held: row.get(10)?,
        bytes: row.get(11)?,
        pauses: row.get(12)?,
        pool: pool(row, 13)?,
    })
}

/// Without the result: reading it may cost many pages. The size of the body follows as one more
/// column.
pub(crate) const DONE: &str =
    "seq, class, ending, at, attempt, enqueued, started, expires, purge_at";

/// That size: one lookup, which reads nothing of the body itself.
pub(crate) const DONE_BYTES: &str = "(SELECT length(body) FROM jobs WHERE jobs.seq = done.seq)";

pub(crate) fn done(row: &Row<'_>) -> Result<Done, Fault> {
    let ending: u8 = row.get(2)?;
    Ok(Done {
        seq: seq(row.get(0)?),
        class: ClassId(row.get(1)?),
        ending: Ending::from_code(ending)
            .ok_or_else(|| Fault::Damaged(format!("a finished job has the ending {ending}")))?,
        at: Millis(row.get(3)?),
        attempt: row.get(4)?,
        enqueued: Millis(row.get(5)?),
        started: millis(row, 6)?,
        expires: millis(row, 7)?,
        purge_at: millis(row, 8)?,
        bytes: row.get(9)?,
        result: None,
    })
}

pub(crate) fn bytes(row: &Row<'_>, column: usize) -> Result<Bytes, Fault> {
    Ok(Bytes::copy_from_slice(row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?))
}

fn millis(row: &Row<'_>, column: usize) -> Result<Option<Millis>, Fault> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Millis))
}

fn worker(row: &Row<'_>, column: usize) -> Result<Option<WorkerId>, Fault> {
    let Some(name) = text(row, column)? else { return Ok(None) };
    let worker = WorkerId::stored(name)
        .map_err(|error| Fault::Damaged(format!("the name of a worker {error}")))?;
    Ok(Some(worker))
}

fn pool(row: &Row<'_>, column: usize) -> Result<Option<PoolName>, Fault> {
    let Some(name) = text(row, column)? else { return Ok(None) };
    let pool = PoolName::parse(name)
        .map_err(|error| Fault::Damaged(format!("the name of a pool {error}")))?;
    Ok(Some(pool))
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<Option<&'r str>, Fault> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(value.as_str().map_err(rusqlite::Error::from)?)),
    }
}
