//! Checking databases: every kind of damage is reported, and an undamaged database passes.

use std::fs;

use crate::directory::{Directory, block_on, connect};
use crate::filled::{JOBS, batch, closed, fill, insert, tamper};
use rota_model::State;
use rota_store::View;
use rota_store_sqlite::check::{Depth, Report, check};
use rota_store_sqlite::{OpenError, Server, Snapshot, directory_status};

#[test]
fn an_undamaged_database_passes_and_is_counted() {
    let directory = closed();
    let report = look(&directory);
    assert_eq!(report.damages, []);
    let census = &report.census;
    assert_eq!(census.total(), JOBS);
    assert_eq!((census.of(State::Active), census.of(State::Scheduled)), (20, 10));
    assert_eq!((census.of(State::Completed), census.of(State::Cancelled)), (12, 12));
    assert_eq!(census.of(State::Discarded), 36);
}

#[test]
fn a_check_does_not_change_a_closed_directory() {
    let directory = closed();
    let (before, listing) = (fs::read(directory.file("rota.db")).unwrap(), directory.listing());
    look(&directory);
    assert_eq!(directory.listing(), listing);
    assert_eq!(fs::read(directory.file("rota.db")).unwrap(), before);
}

/// The log of a crashed server is read, but left for the server to recover.
#[test]
fn a_check_after_a_crash_reads_the_log_and_keeps_it() {
    let directory = Directory::new();
    std::mem::forget(fill(&directory));
    let log = fs::read(directory.file("rota.db-wal")).unwrap();
    assert!(!log.is_empty());
    assert_eq!(look(&directory).census.total(), JOBS);
    assert_eq!(fs::read(directory.file("rota.db-wal")).unwrap(), log);
}

#[test]
fn a_snapshot_does_not_see_later_commits() {
    let directory = Directory::new();
    let mut store = fill(&directory);
    let snapshot = Snapshot::of_directory(directory.path()).unwrap();
    block_on(store.apply(&[batch(2, vec![insert(JOBS)])])).expect("the server is not disturbed");
    assert_eq!(snapshot.loaded().number, 1);
    assert_eq!(check(&snapshot, Depth::Full).census.total(), JOBS);
    drop(snapshot);
    assert_eq!(look(&directory).census.total(), JOBS + 1);
}

#[test]
fn each_broken_rule_is_named() {
    let cases = [
        ("DELETE FROM live WHERE seq = 90", "job_without_state"),
        ("DELETE FROM done WHERE seq = 10", "job_without_state"),
        (
            "INSERT INTO live (seq, class, state, attempt, enqueued, reserved_ms, held) \
             SELECT seq, class, 1, 0, 0, 0, 0 FROM done WHERE seq = 10",
            "living_and_finished",
        ),
        ("DELETE FROM jobs WHERE seq = 90", "living_without_job"),
        ("DELETE FROM jobs WHERE seq = 10", "finished_without_job"),
        ("UPDATE errors SET seq = 999999 WHERE seq = 100", "errors_without_job"),
        ("UPDATE jobs SET id = x'00' WHERE seq = 90", "malformed_job"),
        ("UPDATE live SET state = 77 WHERE seq = 90", "malformed_living"),
        ("UPDATE live SET state = 4 WHERE seq = 90", "malformed_living"),
        ("UPDATE live SET pool = 'no_name' WHERE seq = 90", "malformed_living"),
        ("UPDATE done SET ending = 9 WHERE seq = 10", "malformed_finished"),
        ("UPDATE live SET due = NULL WHERE state = 3", "missing_timer"),
        ("UPDATE live SET bytes = bytes + 1 WHERE seq = 90", "another_size"),
        ("UPDATE jobs SET body = x'22' WHERE seq = 90", "another_size"),
        ("UPDATE live SET class = 1 WHERE seq = 91", "another_class"),
        ("UPDATE jobs SET given = 0 WHERE seq = 90", "anothers_id"),
        ("UPDATE done SET purge_at = 12345 WHERE seq = 10", "kept_for_ever"),
        ("DELETE FROM classes WHERE id = 2", "unknown_class"),
        ("UPDATE meta SET next_seq = 100", "number_not_given_yet"),
        ("DELETE FROM zones WHERE level = 0 AND zone = 1", "not_on_the_map"),
        ("UPDATE zones SET classes = x'05' WHERE level = 0 AND zone = 1", "not_on_the_map"),
        ("UPDATE counts SET completed = completed + 1 WHERE class = 1", "counts"),
        ("DELETE FROM counts WHERE class = 1", "counts"),
        ("INSERT INTO counts VALUES (7, 1, 0, 0, 0, 0)", "counts"),
        ("UPDATE classes SET json = '{' WHERE id = 1", "malformed_class"),
        ("UPDATE named SET json = x'7b' WHERE name = 'mail'", "malformed_named"),
        ("UPDATE named SET kind = 99 WHERE name = 'mail'", "malformed_named"),
        ("UPDATE history SET at = at + 1", "malformed_history"),
        ("UPDATE history SET period = 9", "malformed_history"),
        ("DELETE FROM dead WHERE seq = 12", "dead_letter"),
        ("UPDATE dead SET at = at + 1 WHERE seq = 12", "dead_letter"),
        ("UPDATE dead SET error = 'Refused' WHERE seq = 12", "dead_letter"),
        ("UPDATE named SET json = x'39' WHERE kind = 13", "dead_letter"),
        ("UPDATE stored SET bytes = bytes + 1", "stored_bytes"),
        ("DELETE FROM stored", "stored_bytes"),
        ("INSERT INTO stored VALUES ('nobody', 1)", "stored_bytes"),
        ("UPDATE errors SET json = x'7b20207d' WHERE seq = 100", "stored_bytes"),
        ("UPDATE journal SET number = 2", "journal_ahead"),
        ("UPDATE journal SET number = 0", "journal_ahead"),
        ("DELETE FROM audit WHERE number = 3", "audit_log"),
        ("DELETE FROM audit WHERE number = 4", "audit_log"),
        ("DELETE FROM audit", "audit_log"),
        ("UPDATE audit SET json = x'7b7d' WHERE number = 3", "audit_log"),
        ("UPDATE audit SET at = at + 1 WHERE number = 3", "audit_log"),
        ("UPDATE audit SET tenant = NULL WHERE number = 3", "audit_log"),
        ("UPDATE audit SET hash = x'00' WHERE number = 3", "audit_log"),
        ("DELETE FROM named WHERE name = 'audit_log'", "audit_log"),
        ("UPDATE named SET json = x'7b7d' WHERE name = 'audit_log'", "audit_log"),
    ];
    for (sql, expected) in cases {
        let directory = closed();
        tamper(&directory, sql, []);
        let report = look(&directory);
        let codes: Vec<_> = report.damages.iter().map(|damage| damage.rule.code()).collect();
        assert!(codes.contains(&expected), "{sql}: {codes:?}");
        assert_eq!(report.broken(), None, "{sql}: the file itself is whole");
    }
}

#[test]
fn damage_is_counted_and_reported_with_examples() {
    let directory = closed();
    tamper(&directory, "DELETE FROM live WHERE seq IN (300, 301, 302, 303, 304)", []);
    let report = look(&directory);
    let messages: Vec<_> = report.damages.iter().map(ToString::to_string).collect();
    assert_eq!(messages, ["jobs that are neither living nor finished: 5 (300, 301, 302, ...)"]);
}

/// The damage is where both depths must find it.
#[test]
fn a_damaged_page_is_found() {
    for depth in [Depth::Quick, Depth::Full] {
        let directory = closed();
        let file = directory.file("rota.db");
        let mut bytes = fs::read(&file).unwrap();
        let pages = bytes.len() / 8192;
        let mut found = 0;
        for page in 1..pages {
            let header = page * 8192..page * 8192 + 12;
            let whole = bytes[header.clone()].to_vec();
            bytes[header.clone()].iter_mut().for_each(|byte| *byte ^= 0xa5);
            fs::write(&file, &bytes).unwrap();
            let snapshot = Snapshot::of_directory(directory.path());
            found += usize::from(match snapshot {
                Ok(snapshot) => check(&snapshot, depth).broken().is_some(),
                Err(error) => matches!(error, OpenError::Corrupt { .. }),
            });
            bytes[header].copy_from_slice(&whole);
        }
        assert_eq!(found, pages - 1, "{depth:?}: every page but the first was damaged once");
    }
}

/// Only the full check compares an index with its table.
#[test]
fn an_index_that_differs_from_its_table_is_found() {
    let directory = closed();
    let file = directory.file("rota.db");
    let root = |name: &str| -> i64 {
        let conn = connect(&file);
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        conn.query_row(sql, [name], |row| row.get(0)).unwrap()
    };
    let conn = connect(&file);
    conn.execute("DELETE FROM live WHERE state IN (0, 2, 5)", []).unwrap();
    drop(conn);
    let (rare, purge) = (root("done_rare") as usize - 1, root("live_rare") as usize - 1);
    let mut bytes = fs::read(&file).unwrap();
    // Replace the index by an empty one, which is valid in itself but incomplete.
    let empty = bytes[purge * 8192..(purge + 1) * 8192].to_vec();
    let page = &mut bytes[rare * 8192..(rare + 1) * 8192];
    page.copy_from_slice(&empty);
    rota_sqlite_pages::seal(page, rare as u32 + 1);
    fs::write(&file, &bytes).unwrap();
    let report = look(&directory);
    let broken = report.broken().expect("the index does not fit its table");
    assert!(broken[0].to_string().contains("done_rare"), "{}", broken[0]);
}

#[test]
fn foreign_and_missing_files_are_rejected() {
    let directory = Directory::new();
    let refused = || Snapshot::of_directory(directory.path()).err().expect("it is refused");
    assert!(matches!(refused(), OpenError::Nothing { .. }));
    assert!(directory.listing().is_empty(), "looking creates nothing");

    fs::write(directory.file("rota.db"), b"not a database").unwrap();
    assert!(matches!(refused(), OpenError::Corrupt { .. }));
    fs::remove_file(directory.file("rota.db")).unwrap();

    let conn = connect(&directory.file("rota.db"));
    conn.execute_batch("CREATE TABLE jobs (anything); PRAGMA user_version = 1").unwrap();
    drop(conn);
    assert!(refused().to_string().contains("another program"));

    let directory = closed();
    tamper_format(&directory, 99);
    let error = Snapshot::of_directory(directory.path()).err().expect("it is refused");
    assert!(matches!(error, OpenError::NewerFormat { found: 99, .. }), "{error}");
}

/// The file's header may be older than the log.
#[test]
fn a_newer_format_that_is_only_in_the_log_is_rejected() {
    let directory = Directory::new();
    std::mem::forget(fill(&directory));
    tamper_format(&directory, 99);
    let error = Snapshot::of_directory(directory.path()).err().expect("it is refused");
    assert!(matches!(error, OpenError::NewerFormat { found: 99, .. }), "{error}");
}

#[test]
fn directory_status_reports_the_server_without_blocking_it() {
    let directory = Directory::new();
    assert_eq!(directory_status(directory.path()).unwrap().server, Server::Stopped);
    assert!(directory.listing().is_empty(), "looking creates nothing");
    let store = fill(&directory);
    let seen = directory_status(directory.path()).unwrap();
    assert_eq!(seen.server, Server::Running { pid: Some(std::process::id()) });
    assert_eq!(seen.reserve_bytes, 64 << 10);
    assert!(seen.wal_bytes > 0 && seen.database_bytes > 0 && seen.free_bytes.is_some());
    block_on(store.close()).unwrap();
    assert_eq!(directory_status(directory.path()).unwrap().server, Server::Stopped);
    fs::write(directory.file("rota.restoring"), b"x").unwrap();
    assert_eq!(directory_status(directory.path()).unwrap().partial_files, ["rota.restoring"]);
    assert!(directory_status(&directory.path().join("missing")).is_err());
}

/// Reading the status must not prevent a server from starting.
#[test]
fn a_server_starts_while_its_status_is_read() {
    let directory = closed();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    directory_status(directory.path()).unwrap();
                    std::thread::sleep(std::time::Duration::from_micros(50));
                }
            });
        }
        // A reader may be delayed while it holds the lock, but not in each attempt.
        let started = (0..10).any(|_| (0..50).all(|_| directory.try_open().is_ok()));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(started, "they are in each other's way");
    });
}

fn look(directory: &Directory) -> Report {
    check(&Snapshot::of_directory(directory.path()).unwrap(), Depth::Full)
}

fn tamper_format(directory: &Directory, format: u32) {
    let conn = connect(&directory.file("rota.db"));
    conn.pragma_update(None, "user_version", format).unwrap();
}
