//! Checking and migrating files of every older format.

use std::fs;

use crate::directory::{Directory, block_on, connect};
use crate::filled;
use bytes::Bytes;
use rota_model::usage::{Usage, UsagePer, UsageRow};
use rota_model::{DeadRow, DeadShardId, Live, Millis, PoolName, Seq, State, TenantId};
use rota_sqlite_pages::{damaged_pages, has_checksums};
use rota_store::suite::Fixture;
use rota_store::{Batch, Claim, JobRow, Mutation, Reader, RowKind, View};
use rota_store_sqlite::check::{Depth, check};
use rota_store_sqlite::{FORMAT, Snapshot, SqliteView, backup, restore};

const STEPS: [&str; 11] = [
    include_str!("../../migrations/0001_base.sql"),
    include_str!("../../migrations/0002_history.sql"),
    include_str!("../../migrations/0003_lists.sql"),
    include_str!("../../migrations/0004_limits.sql"),
    include_str!("../../migrations/0005_zones.sql"),
    include_str!("../../migrations/0006_pools.sql"),
    include_str!("../../migrations/0007_cron_runs.sql"),
    include_str!("../../migrations/0008_usage.sql"),
    include_str!("../../migrations/0009_dead_letter.sql"),
    include_str!("../../migrations/0010_identity.sql"),
    include_str!("../../migrations/0011_log.sql"),
];

/// A new version must be able to back up the old format before its first start.
#[test]
fn an_older_format_can_be_checked() {
    for format in 1..FORMAT {
        let directory = older(format);
        let snapshot = Snapshot::of_directory(directory.path()).unwrap();
        assert_eq!(snapshot.format(), format);
        assert_eq!(check(&snapshot, Depth::Full).damages, [], "format {format}");
    }
}

#[test]
fn an_older_format_is_migrated_with_its_data() {
    for format in 1..FORMAT {
        let directory = older(format);
        let store = directory.open();
        let mut reader = store.reader().unwrap();
        let record = block_on(reader.records(&[Seq(3)], usize::MAX)).unwrap().remove(0).unwrap();
        assert_eq!(record.body.json, r#""a":1"#);
        let found = block_on(reader.resolve(&[record.body.id])).unwrap();
        assert_eq!(found[0].as_ref().map(|found| found.seq), Some(Seq(3)));
        let overdue = block_on(reader.overdue(Millis(60), 9)).unwrap();
        let jobs: Vec<_> = overdue.jobs.iter().map(|job| (job.seq.0, job.bytes)).collect();
        assert_eq!(jobs, [(2, 5)]);
        drop((reader, store));
        assert_sound(&directory);

        let conn = connect(&directory.file("rota.db"));
        let cron: Vec<u8> = conn.query_row("SELECT json FROM named", [], |row| row.get(0)).unwrap();
        assert_eq!(cron, br#"{"at":5,"body":"\"type\":\"x\""}"#);
        conn.execute("INSERT INTO history VALUES (0, 'default', 0, x'')", []).unwrap();
    }
}

/// A migrated job has its size and no pauses, and can be changed like a new one.
#[test]
fn jobs_of_an_older_format_report_their_size() {
    for format in 1..FORMAT {
        let directory = older(format);
        let mut store = directory.open();
        let long = live(&mut store, 1);
        assert_eq!((long.state, long.bytes, long.pauses), (State::Active, 20_000, 0));
        let short = live(&mut store, 3);
        assert_eq!((short.state, short.bytes, short.pauses), (State::Available, 5, 0));
        let mutations = vec![
            Mutation::Postpone { seq: Seq(3), due: Millis(90) },
            Mutation::Journal(Bytes::from_static(b"entry")),
        ];
        let batch =
            Batch { number: 8, now: Millis(80), next_seq: Seq(4), event_count: 0, mutations };
        block_on(store.apply(&[batch])).unwrap();
        let due = Some(Millis(90));
        let later = Live { state: State::Scheduled, due, marked: true, ..short };
        assert_eq!(live(&mut store, 3), later);
        block_on(store.close()).unwrap();
        assert_sound(&directory);
    }
}

/// Older formats do not store the pool of an active job.
#[test]
fn jobs_of_an_older_format_have_no_pool_until_they_are_claimed() {
    for format in 1..FORMAT {
        let directory = older(format);
        let mut store = directory.open();
        let running = live(&mut store, 1);
        assert_eq!((running.worker.as_deref(), running.pool), (Some("worker-1"), None));
        let pool = PoolName::parse("general").unwrap();
        let claim = Claim {
            seq: Seq(3),
            attempt: 1,
            started: Millis(80),
            due: Millis(90),
            reserved_ms: 10,
            worker: None,
            pool: Some(pool.clone()),
        };
        let mutations = vec![Mutation::Claim(claim)];
        let batch =
            Batch { number: 8, now: Millis(80), next_seq: Seq(4), event_count: 0, mutations };
        block_on(store.apply(&[batch])).unwrap();
        block_on(store.close()).unwrap();
        assert_sound(&directory);
        let mut store = directory.open();
        assert_eq!((live(&mut store, 1).pool, live(&mut store, 3).pool), (None, Some(pool)));
    }
}

/// The unfinished runs of a schedule were a list in its row, and became rows of their own.
#[test]
fn unfinished_runs_of_schedules_become_rows() {
    for format in 1..7 {
        let directory = older(format);
        let row = r#"{"expression":"* * * * *","body":"\"a\":1","run_count":7,"runs":[1,3]}"#;
        let idle = row.replace("[1,3]", "[]");
        for (name, json) in [("acme/\"often\"", row), ("idle", &idle)] {
            filled::tamper(
                &directory,
                "INSERT INTO named VALUES (1, ?1, CAST(?2 AS BLOB))",
                [name, json],
            );
        }
        block_on(directory.open().close()).unwrap();
        assert_sound(&directory);
        let conn = connect(&directory.file("rota.db"));
        let mut statement =
            conn.prepare("SELECT name, CAST(json AS TEXT) FROM named WHERE kind = ?1").unwrap();
        let mut rows = |kind: u8| -> Vec<(String, String)> {
            let rows = statement.query_map([kind], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let name = r#""acme/\"often\"""#;
        let run = |seq: &str| (seq.to_owned(), name.to_owned());
        assert_eq!(rows(RowKind::CronRun.code()), [run("1"), run("3")], "format {format}");
        let kept = row.replace(r#","runs":[1,3]"#, "");
        let crons = rows(RowKind::Cron.code());
        let crons: Vec<_> = crons.iter().filter(|(name, _)| name != "nightly").collect();
        assert!(crons.iter().all(|(_, json)| *json == kept), "{crons:?}");
        assert_eq!(crons.len(), 2);
    }
}

#[test]
fn usage_is_kept_in_a_file_of_an_older_format() {
    for format in 1..FORMAT {
        let directory = older(format);
        let mut store = directory.open();
        let (tenant, at) = (TenantId::parse("acme").unwrap(), Millis(0));
        let usage = Usage { enqueued: 3, ..Usage::default() };
        let mutations = vec![Mutation::AddUsage(UsageRow { tenant: tenant.clone(), at, usage })];
        let batch =
            Batch { number: 8, now: Millis(80), next_seq: Seq(4), event_count: 0, mutations };
        block_on(store.apply(&[batch])).unwrap();
        let mut reader = store.reader().unwrap();
        for per in UsagePer::ALL {
            let found = block_on(reader.usage(per, &tenant, at, Millis(1))).unwrap();
            assert_eq!(found, [(at, usage)]);
        }
        drop(reader);
        block_on(store.close()).unwrap();
        assert_sound(&directory);
    }
}

/// Dead jobs of an older file are listed, counted and pruned like new ones.
#[test]
fn dead_jobs_of_an_older_format_are_in_the_dead_letter() {
    for format in 1..9 {
        let directory = older(format);
        let error = r#"{"type":"TimeoutError","message":"late"}"#;
        let sql = format!(
            "UPDATE done SET ending = 2 WHERE seq = 2; \
             UPDATE counts SET completed = 0, dead_letter = 1; \
             INSERT INTO errors VALUES (2, 1, 1, CAST('{{}}' AS BLOB)); \
             INSERT INTO errors VALUES (2, 2, 2, CAST('{error}' AS BLOB));"
        );
        filled::run(&directory, &sql);
        let store = directory.open();
        let mut reader = store.reader().unwrap();
        let shard = DeadShardId(0);
        let oldest = block_on(reader.oldest_dead(shard, 9)).unwrap();
        assert_eq!(oldest, [(Seq(2), Millis(40))], "format {format}");
        assert!(block_on(reader.overdue(Millis(60), 9)).unwrap().jobs.is_empty());
        let record = block_on(reader.records(&[Seq(2)], usize::MAX)).unwrap().remove(0).unwrap();
        let JobRow::Done(done) = record.row else { panic!("it is dead") };
        let dead = DeadRow { shard, error: "TimeoutError".into(), other: false, replay_at: None };
        assert_eq!((done.dead, done.purge_at), (Some(dead), None));
        drop((reader, store));
        assert_sound(&directory);
        let conn = connect(&directory.file("rota.db"));
        let mut rows =
            conn.prepare("SELECT name, CAST(json AS TEXT) FROM named WHERE kind > 11").unwrap();
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let rows: Vec<(String, String)> = rows.map(Result::unwrap).collect();
        let class = filled::class("mail");
        let row =
            format!(r#"{{"queue":"{}","tenant":"{}","oldest":40}}"#, class.queue, class.tenant);
        let expected = [("0".to_owned(), row), ("0:TimeoutError".to_owned(), "1".to_owned())];
        assert_eq!(rows, expected);
    }
}

#[test]
fn the_bytes_of_older_jobs_are_counted_once() {
    for format in 1..FORMAT {
        let directory = older(format);
        drop(directory.open());
        let tenant = filled::class("mail").tenant.to_string();
        assert_eq!(stored(&directory), [(tenant, 20_010)], "format {format}");
        assert_sound(&directory);
    }
}

/// Such files were written before the format was released.
#[test]
fn a_file_without_counted_bytes_is_counted_when_it_is_opened() {
    let directory = filled::closed();
    let before = stored(&directory);
    assert!(!before.is_empty());
    filled::run(&directory, "DROP TABLE stored");
    assert_sound(&directory);
    drop(directory.open());
    assert_eq!(stored(&directory), before);
    assert_sound(&directory);
}

fn stored(directory: &Directory) -> Vec<(String, i64)> {
    let conn = connect(&directory.file("rota.db"));
    let mut rows = conn.prepare("SELECT tenant, bytes FROM stored").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// `rota doctor` reports damage; a migration ignores it.
#[test]
fn a_live_job_without_a_body_is_migrated_too() {
    let directory = older(3);
    filled::tamper(&directory, "DELETE FROM jobs WHERE seq = 1", []);
    block_on(directory.open().close()).unwrap();
    let snapshot = Snapshot::of_directory(directory.path()).unwrap();
    let report = check(&snapshot, Depth::Full);
    let codes: Vec<_> = report.damages.iter().map(|damage| damage.rule.code()).collect();
    assert_eq!(codes, ["living_without_job"]);
}

#[test]
fn every_page_of_an_older_file_gets_a_checksum() {
    for format in 1..FORMAT {
        let directory = older(format);
        assert!(!has_checksums(&directory.file("rota.db")).unwrap());
        block_on(directory.open().close()).unwrap();
        assert!(has_checksums(&directory.file("rota.db")).unwrap());
        assert!(
            damaged_pages(&directory.file("rota.db"), 9).unwrap().is_empty(),
            "format {format}"
        );
        assert_eq!(directory.listing(), ["rota.db", "rota.lock", "rota.reserve"]);
    }
}

/// What an older server has left in its write-ahead log when it was killed.
#[test]
fn the_write_ahead_log_of_an_older_file_is_not_lost() {
    let directory = older(FORMAT - 1);
    let conn = connect(&directory.file("rota.db"));
    conn.pragma_update(None, "journal_mode", "wal").unwrap();
    conn.execute("UPDATE meta SET now = 71", []).unwrap();
    std::mem::forget(conn);
    let killed = copied(&directory, &["rota.db", "rota.db-wal"]);
    // A copy that was cut short.
    fs::write(killed.file("rota.db.partial"), vec![1; 100_000]).unwrap();
    block_on(killed.open().close()).unwrap();
    assert_sound(&killed);
    let conn = connect(&killed.file("rota.db"));
    let now: i64 = conn.query_row("SELECT now FROM meta", [], |row| row.get(0)).unwrap();
    assert_eq!(now, 71);
    drop(conn);
    assert_eq!(killed.listing(), ["rota.db", "rota.lock", "rota.reserve"]);
}

/// A backup of an older version has no checksums. It gets them when a server starts with it.
#[test]
fn an_older_file_is_backed_up_and_restored_as_it_is() {
    let directory = older(FORMAT - 1);
    let (file, target) = (directory.file("copy.db"), Directory::new());
    let snapshot = || Ok(Snapshot::of_directory(directory.path())?.into());
    backup(directory.path(), &file, false, snapshot, &mut |_| ()).unwrap();
    assert!(!has_checksums(&file).unwrap());
    restore(&file, target.path(), false, &mut |_| ()).unwrap();
    block_on(target.open().close()).unwrap();
    assert!(damaged_pages(&target.file("rota.db"), 9).unwrap().is_empty());
    assert_sound(&target);
}

fn copied(directory: &Directory, names: &[&str]) -> Directory {
    let copy = Directory::new();
    for name in names {
        fs::copy(directory.file(name), copy.file(name)).unwrap();
    }
    copy
}

/// An undamaged file of this format, created in format 1 and migrated step by step.
fn older(format: u32) -> Directory {
    let directory = Directory::new();
    let conn = connect(&directory.file("rota.db"));
    conn.execute_batch(STEPS[0]).unwrap();
    conn.execute_batch(
        r#"PRAGMA application_id = 0x526f7461;
         UPDATE meta SET number = 7, now = 70, next_seq = 4;
         INSERT INTO jobs VALUES (3, x'00000000000070008000000000000003', 1, 30, CAST(
           '"specversion":"1.0","id":"00000000-0000-7000-8000-000000000003","a":1' AS BLOB));
         INSERT INTO named VALUES (1, 'nightly', CAST(json_object('at', 5, 'body',
           '"specversion":"1.0","id":"00000000-0000-7000-8000-000000000000","type":"x"') AS BLOB));
         INSERT INTO jobs VALUES (2, x'00000000000070008000000000000002', 1, 20, x'2261223a31');
         INSERT INTO jobs VALUES (1, x'00000000000070008000000000000001', 1, 10, zeroblob(20000));
         INSERT INTO live VALUES (3, 1, 1, 0, 30, NULL, NULL, NULL, NULL, 0, 0);
         INSERT INTO live VALUES (1, 1, 3, 1, 10, 50, 15, NULL, 'worker-1', 35, 0);
         INSERT INTO done VALUES (2, 1, 0, 40, 1, 20, 30, NULL, 60, NULL);
         INSERT INTO counts VALUES (1, 1, 0, 0, 0, 0);"#,
    )
    .unwrap();
    let class = serde_json::to_string(&*filled::class("mail")).unwrap();
    conn.execute("INSERT INTO classes VALUES (1, ?1)", [class]).unwrap();
    for step in &STEPS[1..format as usize] {
        conn.execute_batch(step).unwrap();
    }
    conn.pragma_update(None, "user_version", format).unwrap();
    directory
}

fn assert_sound(directory: &Directory) {
    let snapshot = Snapshot::of_directory(directory.path()).unwrap();
    assert_eq!(snapshot.format(), FORMAT);
    assert_eq!(check(&snapshot, Depth::Full).damages, []);
}

fn live(store: &mut SqliteView, seq: u64) -> Live {
    let mut reader = store.reader().unwrap();
    let record = block_on(reader.records(&[Seq(seq)], usize::MAX)).unwrap().remove(0).unwrap();
    let JobRow::Live(live) = record.row else { panic!("job {seq} lives") };
    live
}
