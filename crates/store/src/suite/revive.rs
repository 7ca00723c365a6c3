//! Reviving finished jobs.

use rota_model::{Ending, Live, Millis, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{bytes, claim, error, everything, finish, insert, job};
use crate::{Finish, JobRow, Mutation, Selection};

pub fn a_revived_job_starts_over<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let (new, live) = job(1);
    let live = Live { expires: Some(Millis(77)), ..live };
    driver.commit(vec![insert(0), Mutation::Insert(new, live.clone().into()), insert(2)]);
    driver.commit(vec![claim(1), error(0, 1), error(1, 1), error(2, 1)]);
    driver.commit(vec![
        finish(0, Ending::DeadLetter),
        Mutation::Finish(Finish {
            seq: Seq(1),
            ending: Ending::DeadLetter,
            at: Millis(5),
            purge_at: Some(Millis(6)),
            result: Some(bytes("{}")),
        }),
    ]);
    assert_eq!(driver.record(1).errors.len(), 1);
    driver.commit(vec![Mutation::Revive { seq: Seq(1), enqueued: Millis(100) }]);

    let revived = Live { enqueued: Millis(100), expires: None, ..live };
    let record = driver.record(1);
    assert_eq!(record.row, JobRow::Live(revived.clone()));
    assert_eq!(record.errors.len(), 1, "its errors are kept");
    assert_eq!(driver.load().live, [revived, job(2).1]);
    assert!(driver.overdue(Millis::MAX, 10).is_empty());
    let dead = crate::ListQuery { select: Selection::DEAD_LETTER, ..everything() };
    assert_eq!(driver.list_all(&dead), [0]);
    assert_eq!(driver.record(0).errors.len(), 1, "another job's errors stay");

    driver.commit(vec![claim(1), finish(1, Ending::Completed)]);
    let JobRow::Done(done) = driver.record(1).row else { panic!("it has finished again") };
    assert_eq!(done.result, None, "the first result is forgotten");
}
