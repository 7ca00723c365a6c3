//! Loading the live jobs at startup: two threads read rows, and the calling thread passes them to the
//! sink. This is most of the work of a start.

use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rota_model::Live;
use rota_store::Sink;
use rusqlite::Connection;

use crate::internal_error::InternalError;
use crate::{open, row};

const READERS: usize = 2;
/// Rows per message, and messages that may be queued per reader.
const CHUNK_ROWS: usize = 4_096;
const QUEUED_CHUNKS: usize = 4;
/// Readers take alternate ranges of sequence numbers. A range fits into the queue, so one reader
/// fills its queue while the other's is drained.
const STRIPE: i64 = (CHUNK_ROWS * QUEUED_CHUNKS) as i64;
/// Stripes are wider where jobs are sparse, because each stripe costs a lookup.
const MAX_STRIPES: i64 = 100_000;

/// Rows, and whether they are the last of their stripe.
type Chunk = (Vec<Live>, bool);

/// Passes the live jobs to the sink in the order of their sequence numbers. Nothing is written
/// meanwhile, so all connections see the same state.
pub(crate) fn live(
    conn: &Connection,
    path: &Path,
    sink: &mut dyn Sink,
) -> Result<(), InternalError> {
    let Some(stripes) = stripes(conn)? else { return Ok(()) };
    let stripes = &stripes[..];
    thread::scope(|scope| {
        let mut readers = Vec::new();
        for n in 0..READERS {
            let conn = open::reader(path)?;
            let (chunks, received) = sync_channel(QUEUED_CHUNKS);
            let own = stripes.iter().skip(n).step_by(READERS);
            readers.push((scope.spawn(move || read(&conn, own, &chunks)), received));
        }
        let in_turn = (0..stripes.len()).map(|n| &readers[n % READERS].1);
        // If a reader has stopped early, `join` below returns the error.
        let _ = in_turn.into_iter().try_for_each(|received| feed(received, sink));
        let mut outcome = Ok(());
        for (reading, received) in readers {
            drop(received);
            let read = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(read);
        }
        outcome
    })
}

/// Ranges of sequence numbers that cover all live jobs.
fn stripes(conn: &Connection) -> Result<Option<Vec<Range<i64>>>, InternalError> {
    let sql = "SELECT (SELECT min(seq) FROM live), (SELECT max(seq) FROM live)";
    let (first, last): (Option<i64>, Option<i64>) =
        conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
    let width = STRIPE.max((last - first) / MAX_STRIPES + 1);
    let starts = (first..=last).step_by(width as usize);
    Ok(Some(starts.map(|from| from..from.saturating_add(width)).collect()))
}

/// Passes one stripe to the sink. Returns `None` if the reader has stopped early.
fn feed(received: &Receiver<Chunk>, sink: &mut dyn Sink) -> Option<()> {
    loop {
        let (rows, is_last) = received.recv().ok()?;
        rows.into_iter().for_each(|live| sink.live(live));
        if is_last {
            return Some(());
        }
    }
}

fn read<'a>(
    conn: &Connection,
    stripes: impl Iterator<Item = &'a Range<i64>>,
    chunks: &SyncSender<Chunk>,
) -> Result<(), InternalError> {
    let sql = format!("SELECT {} FROM live WHERE seq >= ?1 AND seq < ?2 ORDER BY seq", row::LIVE);
    let mut statement = conn.prepare_cached(&sql)?;
    for stripe in stripes {
        let mut rows = statement.query((stripe.start, stripe.end))?;
        let mut chunk = Vec::with_capacity(CHUNK_ROWS);
        while let Some(row) = rows.next()? {
            if chunk.len() == CHUNK_ROWS {
                let full = std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK_ROWS));
                if chunks.send((full, false)).is_err() {
                    return Ok(());
                }
            }
            chunk.push(row::live(row)?);
        }
        // The receiver is gone if another reader has failed.
        if chunks.send((chunk, true)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
