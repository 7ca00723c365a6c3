//! What checksums cost: processor time of the same work with SQLite's own VFS and with ours, in turn.
//!
//! Run it with `cargo run --release -p rota-sqlite-pages --example overhead`.

use std::error::Error;
use std::path::Path;

use rota_sqlite_pages::{register, reserve};
use rusqlite::{Connection, OpenFlags};

const ROUNDS: usize = 5;
const TRANSACTIONS: i64 = 400;
const ROWS: i64 = 512;
const READS: i64 = 200_000;

/// Seconds of processor time.
struct Times {
    writing: f64,
    reading: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let ours = register()?;
    let mut sums = [(0.0, 0.0); 2];
    for _ in 0..ROUNDS {
        for (vfs, sum) in ["unix", ours].into_iter().zip(&mut sums) {
            let directory = tempfile::tempdir()?;
            let times = work(&directory.path().join("x.db"), vfs)?;
            println!("{vfs:10}  writing {:.2} s  reading {:.2} s", times.writing, times.reading);
            *sum = (sum.0 + times.writing, sum.1 + times.reading);
        }
    }
    let [plain, checked] = sums;
    println!("ratios  writing {:.3}  reading {:.3}", checked.0 / plain.0, checked.1 / plain.1);
    Ok(())
}

/// Writes rows of a job's size, with checkpoints, and reads them in an order that misses the cache.
fn work(path: &Path, vfs: &str) -> Result<Times, Box<dyn Error>> {
    let conn = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs)?;
    reserve(&conn)?;
    conn.execute_batch(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = wal; PRAGMA synchronous = normal;
         PRAGMA wal_autocheckpoint = 2048; PRAGMA cache_size = -8192;
         CREATE TABLE jobs (seq INTEGER PRIMARY KEY, body BLOB);
         CREATE TABLE live (seq INTEGER PRIMARY KEY, state INTEGER, due INTEGER);",
    )?;
    let begun = processor_seconds()?;
    let body = vec![b'x'; 300];
    for transaction in 0..TRANSACTIONS {
        conn.execute_batch("BEGIN")?;
        let mut job = conn.prepare("INSERT INTO jobs VALUES (?1, ?2)")?;
        let mut live = conn.prepare("INSERT INTO live VALUES (?1, 1, ?1)")?;
        for row in 0..ROWS {
            let seq = transaction * ROWS + row;
            job.execute((seq, &body))?;
            live.execute([seq])?;
        }
        drop((job, live));
        conn.execute_batch("COMMIT")?;
    }
    let written = processor_seconds()?;
    let rows = TRANSACTIONS * ROWS;
    let mut read = conn.prepare("SELECT length(body) FROM jobs WHERE seq = ?1")?;
    for n in 0..READS {
        let _: i64 = read.query_row([n * 7_919 % rows], |row| row.get(0))?;
    }
    let ended = processor_seconds()?;
    Ok(Times { writing: written - begun, reading: ended - written })
}

/// Of this process, in user and system mode.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}
