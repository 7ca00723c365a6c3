//! Reading complete jobs.

use rota_model::{Done, Ending, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{bytes, created, error, error_json, insert, job};
use crate::{Body, Finish, JobRow, Mutation, Record};

pub fn records_are_complete<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![insert(1), insert(2), insert(3), error(2, 1), error(3, 1), error(3, 2)]);
    driver.commit(vec![Mutation::Finish(Finish {
        seq: Seq(3),
        ending: Ending::Completed,
        at: created(9),
        purge_at: None,
        result: Some(bytes("[1,2]")),
    })]);
    let record = |seq, row, errors: &[u32]| {
        let (new, _) = job(seq);
        Some(Record {
            seq: Seq(seq),
            body: Body { id: new.id, created: new.created, json: new.body },
            row,
            errors: errors.iter().copied().map(error_json).collect(),
            replays: None,
        })
    };
    let live = |seq| JobRow::Live(job(seq).1);
    let done = JobRow::Done(Done {
        seq: Seq(3),
        class: job(3).1.class,
        bytes: job(3).1.bytes,
        ending: Ending::Completed,
        at: created(9),
        attempt: 0,
        enqueued: created(3),
        started: None,
        expires: None,
        purge_at: None,
        result: Some(bytes("[1,2]")),
        dead: None,
    });
    let expected = [
        record(3, done.clone(), &[1, 2]),
        None,
        record(1, live(1), &[]),
        record(2, live(2), &[1]),
        record(3, done, &[1, 2]),
    ];
    assert_eq!(driver.records(&[3, 9, 1, 2, 3].map(Seq)), expected);
    assert!(driver.records(&[]).is_empty());
}

pub fn reads_end_before_they_have_too_many_bytes<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((1..=4).map(insert).chain([error(2, 1)]).collect());
    let seqs = [9, 1, 2, 3, 4].map(Seq);
    let all = driver.records(&seqs);
    let size = |records: &[Option<Record>]| records.iter().flatten().map(Record::bytes).sum();
    let found = |records: &[Option<Record>]| records.iter().flatten().count();
    // Numbers without a job have no bytes.
    for count in 1..=4 {
        let max_bytes: usize = size(&all[..=count]);
        assert_eq!(driver.records_within(&seqs, max_bytes), all[..=count]);
        let fewer = driver.records_within(&seqs, max_bytes - 1);
        assert_eq!(found(&fewer), (count - 1).max(1), "the first job is read whatever its size");
    }
    let bodies = driver.bodies(&seqs);
    let max_bytes = bodies[1..3].iter().flatten().map(|body| body.json.len()).sum::<usize>();
    assert_eq!(driver.bodies_within(&seqs, max_bytes), bodies[..3]);
    assert_eq!(driver.bodies_within(&seqs, max_bytes - 1), bodies[..2]);
    assert_eq!(driver.bodies_within(&seqs, 0), bodies[..2]);
}
