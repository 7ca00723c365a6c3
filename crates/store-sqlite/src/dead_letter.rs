//! Reading the dead letter: the oldest jobs of a tenant in a queue, due replays, and the time span.

use rota_model::{DeadShardId, DueReplay, JobId, Millis, Replays, Seq};
use rusqlite::Connection;

use crate::internal_error::InternalError;
use crate::lookup::RowLookup;
use crate::row::{self, key};
use rota_store::JobRow;

pub(crate) fn oldest(
    conn: &Connection,
    shard: DeadShardId,
    limit: usize,
) -> Result<Vec<(Seq, Millis)>, InternalError> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, at FROM dead INDEXED BY dead_shard WHERE shard = ?1 ORDER BY at, seq LIMIT ?2",
    )?;
    let found = statement.query_and_then((shard.0, limit as i64), |row| {
        Ok((row::seq(row.get(0)?), Millis(row.get(1)?)))
    })?;
    found.collect()
}

/// When the first and the last of the jobs were discarded, in all shards or in these.
pub(crate) fn span(
    conn: &Connection,
    shards: Option<&[DeadShardId]>,
) -> Result<Option<(Millis, Millis)>, InternalError> {
    let Some(shards) = shards else {
        let mut statement =
            conn.prepare_cached("SELECT (SELECT min(at) FROM dead), (SELECT max(at) FROM dead)")?;
        let ends: (Option<i64>, Option<i64>) =
            statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        return Ok(ends.0.zip(ends.1).map(|(first, last)| (Millis(first), Millis(last))));
    };
    let mut statement = conn.prepare_cached(
        "SELECT (SELECT min(at) FROM dead WHERE shard = ?1), \
         (SELECT max(at) FROM dead WHERE shard = ?1)",
    )?;
    let mut span: Option<(Millis, Millis)> = None;
    for shard in shards {
        let ends: (Option<i64>, Option<i64>) =
            statement.query_row([shard.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if let (Some(first), Some(last)) = ends {
            let (first, last) = (Millis(first), Millis(last));
            span = Some(span.map_or((first, last), |span| (span.0.min(first), span.1.max(last))));
        }
    }
    Ok(span)
}

pub(crate) fn due_replays(
    conn: &Connection,
    now: Millis,
    limit: usize,
) -> Result<Vec<DueReplay>, InternalError> {
    let mut due = conn.prepare_cached(
        "SELECT seq FROM dead INDEXED BY dead_replay \
         WHERE replay_at IS NOT NULL AND replay_at <= ?1 ORDER BY replay_at, seq LIMIT ?2",
    )?;
    let mut id = conn.prepare_cached("SELECT id FROM jobs WHERE seq = ?1")?;
    let mut rows = RowLookup::new(conn)?;
    let mut found = due.query((now.0, limit as i64))?;
    let mut replays = Vec::new();
    while let Some(row) = found.next()? {
        let seq = row::seq(row.get(0)?);
        let JobRow::Done(done) = rows.get(seq)? else {
            return Err(InternalError::Corrupt(format!("job {seq} is dead and living")));
        };
        let id = JobId::from_bytes(id.query_row([key(seq)], |row| row.get(0))?);
        let replays_so_far = match replays_of(conn, seq)? {
            None => Replays::default(),
            Some(json) => serde_json::from_slice(&json).map_err(|error| {
                InternalError::Corrupt(format!("the replays of job {seq} cannot be read: {error}"))
            })?,
        };
        replays.push(DueReplay { seq, id, done, replays: replays_so_far });
    }
    Ok(replays)
}

pub(crate) fn replays_of(
    conn: &Connection,
    seq: Seq,
) -> Result<Option<bytes::Bytes>, InternalError> {
    let mut statement = conn.prepare_cached("SELECT json FROM replays WHERE seq = ?1")?;
    statement.query([key(seq)])?.next()?.map(|row| row::bytes(row, 0)).transpose()
}
