//! Reading the living jobs, which is most of what a start does: two threads read while a third makes
//! an engine of it.

use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rota_model::Live;
use rota_store::Sink;
use rusqlite::Connection;

use crate::fault::Fault;
use crate::{open, row};

const READERS: usize = 2;
/// How many rows go from one thread to the other at once, and how many times that may wait.
const PORTION: usize = 4_096;
const PORTIONS: usize = 4;
/// Readers take turns by numbers: as many as may wait, so that one reads while the other is heard.
const STRIPE: i64 = (PORTION * PORTIONS) as i64;
/// Where jobs are few and far between, stripes are wider, since each is searched for.
const MOST_STRIPES: i64 = 100_000;

/// Rows, and whether the reader's stripe ends with them.
type Portion = (Vec<Live>, bool);

/// Nobody writes meanwhile, so all connections see the same. The jobs come in order.
pub(crate) fn live(conn: &Connection, path: &Path, sink: &mut dyn Sink) -> Result<(), Fault> {
    let Some(stripes) = stripes(conn)? else { return Ok(()) };
    let stripes = &stripes[..];
    thread::scope(|scope| {
        let mut readers = Vec::new();
        for n in 0..READERS {
            let conn = open::reader(path)?;
            let (portions, received) = sync_channel(PORTIONS);
            let own = stripes.iter().skip(n).step_by(READERS);
            readers.push((scope.spawn(move || read(&conn, own, &portions)), received));
        }
        let in_turn = (0..stripes.len()).map(|n| &readers[n % READERS].1);
        // A reader that has stopped early tells why below.
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

/// The numbers of all living jobs, in ranges.
fn stripes(conn: &Connection) -> Result<Option<Vec<Range<i64>>>, Fault> {
    let sql = "SELECT (SELECT min(seq) FROM live), (SELECT max(seq) FROM live)";
    let (first, last): (Option<i64>, Option<i64>) =
        conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
    let width = STRIPE.max((last - first) / MOST_STRIPES + 1);
    let starts = (first..=last).step_by(width as usize);
    Ok(Some(starts.map(|from| from..from.saturating_add(width)).collect()))
}

/// One stripe of a reader; `None` when it has stopped early.
fn feed(received: &Receiver<Portion>, sink: &mut dyn Sink) -> Option<()> {
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
    portions: &SyncSender<Portion>,
) -> Result<(), Fault> {
    let sql = format!("SELECT {} FROM live WHERE seq >= ?1 AND seq < ?2 ORDER BY seq", row::LIVE);
    let mut statement = conn.prepare_cached(&sql)?;
    for stripe in stripes {
        let mut rows = statement.query((stripe.start, stripe.end))?;
        let mut portion = Vec::with_capacity(PORTION);
        while let Some(row) = rows.next()? {
            if portion.len() == PORTION {
                let full = std::mem::replace(&mut portion, Vec::with_capacity(PORTION));
                if portions.send((full, false)).is_err() {
                    return Ok(());
                }
            }
            portion.push(row::live(row)?);
        }
        // Whoever does not listen any more does not want to know.
        if portions.send((portion, true)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
