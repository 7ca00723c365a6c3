//! Finishing jobs.

use bytes::Bytes;
use rota_model::{Done, Ending, Live, Millis, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{bytes, claim, everything, finish, id, insert, job, pool, worker};
use crate::{Finish, JobRow, Mutation};

pub fn finishing_carries_over_the_live_columns<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    for (seq, result) in [(1, Some(bytes(r#"{"sum":42}"#))), (2, None), (3, Some(Bytes::new()))] {
        let (new, live) = job(seq);
        let live = Live {
            attempt: 4,
            enqueued: Millis(5),
            started: Some(Millis(6)),
            expires: Some(Millis(7)),
            worker: Some(worker("w")),
            pool: Some(pool("p")),
            ..live
        };
        driver.commit(vec![Mutation::Insert(new, live.into())]);
        driver.commit(vec![Mutation::Finish(Finish {
            seq: Seq(seq),
            ending: Ending::Completed,
            at: Millis(8),
            purge_at: Some(Millis(9)),
            result: result.clone(),
        })]);
        let done = Done {
            seq: Seq(seq),
            class: job(seq).1.class,
            bytes: job(seq).1.bytes,
            ending: Ending::Completed,
            at: Millis(8),
            attempt: 4,
            enqueued: Millis(5),
            started: Some(Millis(6)),
            expires: Some(Millis(7)),
            purge_at: Some(Millis(9)),
            result,
            dead: None,
        };
        assert_eq!(driver.record(seq).row, JobRow::Done(done.clone()));
        let found = driver.resolve(&[id(seq)]).pop().flatten().expect("it is still found");
        assert_eq!(found.row, JobRow::Done(Done { result: None, ..done }));
    }
    assert!(driver.load().live.is_empty());
}

pub fn every_ending_is_stored<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let mut mutations = Vec::new();
    for (seq, ending) in (0..).zip(Ending::ALL) {
        // The whole life of a job in one batch.
        mutations.extend([insert(seq), claim(seq), finish(seq, ending)]);
    }
    driver.commit(mutations);
    let mut driver = driver.crash_and_reopen();
    for (seq, ending) in (0..).zip(Ending::ALL) {
        let JobRow::Done(done) = driver.record(seq).row else { panic!("job {seq} has finished") };
        assert_eq!((done.ending, done.attempt, done.purge_at), (ending, 1, None));
    }
    assert_eq!(driver.list_all(&everything()), [0, 1, 2, 3, 4]);
}
