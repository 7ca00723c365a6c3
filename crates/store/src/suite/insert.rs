//! Inserted jobs are read back unchanged.

use bytes::Bytes;
use rota_model::{ClassId, JobId, Live, Millis, Seq, State};

use super::Fixture;
use super::driver::{Driver, Image};
use super::sample::{bytes, everything, job, pool, size, worker};
use crate::{Found, JobRow, ListQuery, Loaded, Mutation, NewRow};

pub fn a_new_store_is_empty<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let loaded = Loaded { id_key: driver.last.id_key, ..Loaded::default() };
    assert_eq!(driver.load(), Image { loaded, ..Image::default() });
    assert_eq!(driver.last, loaded);
    let since = Some(Millis(0));
    let page = driver.list(&ListQuery { since, until: since, ..everything() });
    assert!(page.records.is_empty() && page.next.is_none());
    assert!(driver.overdue(Millis::MAX, 10).is_empty());
}

pub fn every_field_of_a_job_is_stored<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let (bare, bare_live) = job(1);
    let (full, _) = job(2);
    let full_live = Live {
        seq: Seq(2),
        class: ClassId(1),
        state: State::Active,
        attempt: 3,
        enqueued: Millis(11),
        due: Some(Millis(12)),
        started: Some(Millis(13)),
        expires: Some(Millis(14)),
        worker: Some(worker("worker_019539a4/~!")),
        pool: Some(pool("pool-1.a")),
        reserved_ms: 15,
        marked: true,
        bytes: size(&full.body),
        pauses: 16,
    };
    let jobs = [(bare, bare_live), (full, full_live)];
    driver.commit(
        jobs.iter().cloned().map(|(new, live)| Mutation::Insert(new, live.into())).collect(),
    );
    expect_jobs(&mut driver, &jobs);
    expect_jobs(&mut driver.crash_and_reopen(), &jobs);
}

pub fn extreme_values_are_stored<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let low = (
        NewRow {
            seq: Seq(0),
            id: JobId::from_bytes([0; 16]),
            given: true,
            class: ClassId(0),
            created: Millis(i64::MIN),
            body: Bytes::new(),
        },
        Live {
            seq: Seq(0),
            class: ClassId(0),
            enqueued: Millis(i64::MIN),
            due: Some(Millis(i64::MIN)),
            started: Some(Millis(0)),
            expires: Some(Millis(-1)),
            worker: Some(worker("w")),
            pool: Some(pool("p")),
            bytes: 0,
            ..job(0).1
        },
    );
    // Sequence numbers have 63 bits.
    let high_seq = Seq(i64::MAX as u64 - 1);
    let body = bytes("\"\u{0}\u{fffd}😀\":null");
    let high = (
        NewRow {
            seq: high_seq,
            id: JobId::from_bytes([0xff; 16]),
            given: true,
            class: ClassId(u32::MAX),
            created: Millis(i64::MAX),
            body: body.clone(),
        },
        Live {
            seq: high_seq,
            class: ClassId(u32::MAX),
            attempt: u32::MAX,
            enqueued: Millis(i64::MAX),
            due: Some(Millis(i64::MAX)),
            started: Some(Millis(i64::MAX)),
            expires: Some(Millis(i64::MAX)),
            worker: Some(worker(&"~".repeat(255))),
            pool: Some(pool(&"p".repeat(128))),
            reserved_ms: u64::MAX,
            bytes: size(&body),
            pauses: u32::MAX,
            ..job(0).1
        },
    );
    let jobs = [low, high];
    driver.commit(
        jobs.iter().cloned().map(|(new, live)| Mutation::Insert(new, live.into())).collect(),
    );
    expect_jobs(&mut driver, &jobs);
    let mut driver = driver.crash_and_reopen();
    assert_eq!(driver.last.next_seq, Seq(i64::MAX as u64));
    expect_jobs(&mut driver, &jobs);
}

/// Checks that every read method returns these jobs.
fn expect_jobs<F: Fixture>(driver: &mut Driver<'_, F>, jobs: &[(NewRow, Live)]) {
    let lives: Vec<_> = jobs.iter().map(|(_, live)| live.clone()).collect();
    assert_eq!(driver.load().live, lives);
    for (new, live) in jobs {
        let row = JobRow::Live(live.clone());
        let found = Found { seq: new.seq, id: new.id, row: row.clone() };
        assert_eq!(driver.resolve(&[new.id]), [Some(found)]);
        let record = driver.record(new.seq.0);
        assert_eq!(record.row, row);
        assert_eq!(record.body.id, new.id);
        assert_eq!(record.body.created, new.created);
        assert_eq!(record.body.json, new.body);
        assert!(record.errors.is_empty());
        assert_eq!(driver.bodies(&[new.seq]), [Some(record.body)]);
    }
    let seqs: Vec<_> = jobs.iter().map(|(new, _)| new.seq.0).collect();
    assert_eq!(driver.list_all(&everything()), seqs);
}
