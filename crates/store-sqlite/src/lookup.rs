//! Looking up single jobs by id or by sequence number.

use rota_model::{Done, Ending, JobId, Live, Millis, Seq};
use rota_store::{Body, Found, JobRow, Record};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use crate::internal_error::InternalError;
use crate::row::{self, key};
use crate::{dead_letter, load};

/// Reads the `live` or `done` row of jobs, with statements that are prepared once.
pub(crate) struct RowLookup<'c> {
    live: CachedStatement<'c>,
    done: CachedStatement<'c>,
    dead: CachedStatement<'c>,
}

impl<'c> RowLookup<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Result<Self, InternalError> {
        let live = format!("SELECT {} FROM live WHERE seq = ?1", row::LIVE);
        let done = format!("SELECT {}, {} FROM done WHERE seq = ?1", row::DONE, row::DONE_BYTES);
        let dead = format!("SELECT {} FROM dead WHERE seq = ?1", row::DEAD);
        Ok(Self {
            live: conn.prepare_cached(&live)?,
            done: conn.prepare_cached(&done)?,
            dead: conn.prepare_cached(&dead)?,
        })
    }

    pub(crate) fn get(&mut self, seq: Seq) -> Result<JobRow, InternalError> {
        if let Some(live) = self.live(seq)? {
            return Ok(JobRow::Live(live));
        }
        match self.done(seq)? {
            Some(done) => Ok(JobRow::Done(done)),
            None => {
                Err(InternalError::Corrupt(format!("job {seq} is neither living nor finished")))
            }
        }
    }

    fn live(&mut self, seq: Seq) -> Result<Option<Live>, InternalError> {
        self.live.query([key(seq)])?.next()?.map(row::live).transpose()
    }

    fn done(&mut self, seq: Seq) -> Result<Option<Done>, InternalError> {
        let mut done = self.done.query([key(seq)])?.next()?.map(row::done).transpose()?;
        if let Some(done) = &mut done
            && done.ending == Ending::DeadLetter
        {
            done.dead = self.dead.query([key(seq)])?.next()?.map(row::dead).transpose()?;
        }
        Ok(done)
    }
}

pub(crate) fn resolve(
    conn: &Connection,
    ids: &[JobId],
) -> Result<Vec<Option<Found>>, InternalError> {
    let key = load::meta(conn)?.id_key;
    let mut by_sealed_seq = conn.prepare_cached("SELECT 1 FROM jobs WHERE seq = ?1 AND id = ?2")?;
    let mut by_given_id =
        conn.prepare_cached("SELECT seq FROM jobs WHERE id = ?1 AND given = 1")?;
    let mut rows = RowLookup::new(conn)?;
    let mut resolved = Vec::with_capacity(ids.len());
    for &id in ids {
        let (bytes, sealed) = (id.to_bytes(), id.unseal(key));
        let seq = if by_sealed_seq.exists((row::key(sealed), &bytes[..]))? {
            Some(sealed)
        } else {
            by_given_id.query_row([&bytes[..]], |row| row.get(0)).optional()?.map(row::seq)
        };
        let found = match seq {
            Some(seq) => Some(Found { seq, id, row: rows.get(seq)? }),
            None => None,
        };
        resolved.push(found);
    }
    Ok(resolved)
}

const BODY: &str = "SELECT id, created, body FROM jobs WHERE seq = ?1";

pub(crate) fn bodies(
    conn: &Connection,
    seqs: &[Seq],
    max_bytes: usize,
) -> Result<Vec<Option<Body>>, InternalError> {
    let mut by_seq = conn.prepare_cached(BODY)?;
    let (mut bodies, mut room) = (Vec::with_capacity(seqs.len()), Room::of(max_bytes));
    for &seq in seqs {
        let body = body(&mut by_seq, seq)?;
        if !room.take(body.as_ref().map_or(0, |body| body.json.len())) {
            break;
        }
        bodies.push(body);
    }
    Ok(bodies)
}

/// The bytes that are left for the jobs of one read.
struct Room {
    left: usize,
    is_used: bool,
}

impl Room {
    fn of(max_bytes: usize) -> Self {
        Self { left: max_bytes, is_used: false }
    }

    /// Takes room for a job. Returns false if there is not enough, except for the first job.
    fn take(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.left || !self.is_used;
        self.left = self.left.saturating_sub(bytes);
        self.is_used |= bytes > 0;
        fits
    }
}

pub(crate) fn records(
    conn: &Connection,
    seqs: &[Seq],
    max_bytes: usize,
) -> Result<Vec<Option<Record>>, InternalError> {
    let mut room = Room::of(max_bytes);
    let mut by_seq = conn.prepare_cached(BODY)?;
    let mut rows = RowLookup::new(conn)?;
    let mut results =
        conn.prepare_cached("SELECT result FROM done WHERE seq = ?1 AND result IS NOT NULL")?;
    let mut errors = conn.prepare_cached("SELECT json FROM errors WHERE seq = ?1 ORDER BY n")?;
    let mut records = Vec::with_capacity(seqs.len());
    for &seq in seqs {
        let Some(body) = body(&mut by_seq, seq)? else {
            records.push(None);
            continue;
        };
        let mut row = rows.get(seq)?;
        if let JobRow::Done(done) = &mut row {
            done.result =
                results.query([key(seq)])?.next()?.map(|row| row::bytes(row, 0)).transpose()?;
        }
        let errors = errors
            .query_and_then([key(seq)], |row| row::bytes(row, 0))?
            .collect::<Result<Vec<_>, InternalError>>()?;
        let replays = dead_letter::replays_of(conn, seq)?;
        let record = Record { seq, body, row, errors, replays };
        if !room.take(record.bytes()) {
            break;
        }
        records.push(Some(record));
    }
    Ok(records)
}

fn body(by_seq: &mut CachedStatement<'_>, seq: Seq) -> Result<Option<Body>, InternalError> {
    by_seq.query([key(seq)])?.next()?.map(read_body).transpose()
}

fn read_body(row: &Row<'_>) -> Result<Body, InternalError> {
    Ok(Body {
        id: JobId::from_bytes(row.get(0)?),
        created: Millis(row.get(1)?),
        json: row::bytes(row, 2)?,
    })
}
