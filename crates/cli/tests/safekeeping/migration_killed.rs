//! The first start on data of an earlier format, killed at any moment: the next start finishes the migration.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::process::{Process, run};
use crate::servers_with_jobs::assert_ok;
use crate::support::Server;

const STEPS: [&str; 10] = [
    include_str!("../../../store-sqlite/migrations/0001_base.sql"),
    include_str!("../../../store-sqlite/migrations/0002_history.sql"),
    include_str!("../../../store-sqlite/migrations/0003_lists.sql"),
    include_str!("../../../store-sqlite/migrations/0004_limits.sql"),
    include_str!("../../../store-sqlite/migrations/0005_zones.sql"),
    include_str!("../../../store-sqlite/migrations/0006_pools.sql"),
    include_str!("../../../store-sqlite/migrations/0007_cron_runs.sql"),
    include_str!("../../../store-sqlite/migrations/0008_usage.sql"),
    include_str!("../../../store-sqlite/migrations/0009_dead_letter.sql"),
    include_str!("../../../store-sqlite/migrations/0010_identity.sql"),
];

/// Formats before this one get their zones at the migration, so they may have more jobs than a zone has.
const ZONES: usize = 5;
const ROUNDS: u32 = 8;

#[test]
fn a_killed_migration_is_finished_by_the_next_start() {
    let class = class();
    let mut interrupted = 0;
    for format in 1..=STEPS.len() {
        let jobs = if format < ZONES { 20_000 } else { 100 };
        let old = TempDir::new().unwrap();
        make(old.path(), format, jobs, &class);
        let longest = started_after(&copy_of(old.path()));
        let dir = copy_of(old.path());
        for round in 0..ROUNDS {
            let server = Process::serve(dir.path(), &[]);
            std::thread::sleep(longest * round / ROUNDS);
            server.kill();
            interrupted += u32::from(format_of(dir.path()) < rota_store_sqlite::FORMAT);
        }
        let mut server = Server::start_at(dir.path(), &[], &[]);
        assert_eq!(server.terminate().code(), Some(0));
        let conn = crate::database::open(&dir.path().join("rota.db"));
        let count = "SELECT count(*) FROM jobs JOIN live USING (seq)";
        let count: i64 = conn.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(count, jobs as i64, "format {format}");
        drop(conn);
        let path = dir.path().display().to_string();
        let checked = run(&["doctor", "--data", &path], &[("ROTA_LISTEN", "127.0.0.1:9")]);
        assert_ok(&checked);
    }
    println!("{interrupted} starts were killed before their migration was done");
    assert!(interrupted > 5, "only {interrupted} migrations were interrupted");
}

/// How long the first start takes when nobody kills it.
fn started_after(dir: &TempDir) -> Duration {
    let begun = Instant::now();
    let mut server = Process::serve(dir.path(), &[]);
    assert!(server.address().is_some(), "it ended: {}", server.stderr());
    let took = begun.elapsed();
    server.kill();
    took
}

fn copy_of(old: &Path) -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::copy(old.join("rota.db"), dir.path().join("rota.db")).unwrap();
    dir
}

/// As the header of the file has it.
fn format_of(dir: &Path) -> u32 {
    let header = fs::read(dir.join("rota.db")).unwrap();
    u32::from_be_bytes(header[60..64].try_into().unwrap())
}

/// The class of a job, as a server writes it.
fn class() -> Vec<u8> {
    let mut server = Server::start();
    server.enqueue(serde_json::json!({"type": "mail", "args": []}));
    assert_eq!(server.terminate().code(), Some(0));
    let conn = crate::database::open(&server.dir().join("rota.db"));
    let class = "SELECT CAST(json AS BLOB) FROM classes";
    conn.query_row(class, [], |row| row.get(0)).unwrap()
}

/// A database of an earlier format with waiting jobs.
fn make(dir: &Path, format: usize, jobs: usize, class: &[u8]) {
    let conn = Connection::open(dir.join("rota.db")).unwrap();
    conn.execute_batch(STEPS[0]).unwrap();
    let class = String::from_utf8(class.to_vec()).unwrap();
    conn.execute("INSERT INTO classes VALUES (1, ?1)", [class]).unwrap();
    conn.execute_batch(&format!(
        "PRAGMA application_id = 0x526f7461;
         BEGIN;
         UPDATE meta SET number = 7, now = 70, next_seq = {jobs} + 1;
         CREATE TEMP TABLE numbers AS
           WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < {jobs})
           SELECT seq FROM n;
         INSERT INTO jobs SELECT seq, unhex('00000000000070008000' || printf('%012x', seq)), 1, 10,
           CAST('\"specversion\":\"1.0\",\"id\":\"00000000-0000-7000-8000-' || printf('%012x', seq) || '\",\"type\":\"mail\",\"args\":[]' AS BLOB)
           FROM numbers;
         INSERT INTO live SELECT seq, 1, 1, 0, 30, NULL, NULL, NULL, NULL, 0, 0 FROM numbers;
         COMMIT;"
    ))
    .unwrap();
    for step in &STEPS[1..format] {
        conn.execute_batch(step).unwrap();
    }
    conn.pragma_update(None, "user_version", format as u32).unwrap();
}
