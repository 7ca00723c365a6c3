//! Deleting live and finished jobs.

use bytes::Bytes;
use rota_model::{Ending, Millis, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{error, everything, finish_until, id, insert, job};
use crate::Mutation;

pub fn deleting_removes_every_row_of_a_job<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((0..6).map(insert).collect());
    driver.commit((0..6).map(|seq| error(seq, 1)).collect());
    driver.commit((3..6).map(|seq| finish_until(seq, Ending::DeadLetter, Some(5))).collect());
    driver.commit(vec![Mutation::Delete(Seq(1)), Mutation::Delete(Seq(4))]);
    for seq in [1, 4] {
        assert_eq!(driver.resolve(&[id(seq)]), [None]);
        assert_eq!(driver.bodies(&[Seq(seq)]), [None]);
        assert_eq!(driver.records(&[Seq(seq)]), [None]);
    }
    assert_eq!(driver.list_all(&everything()), [0, 2, 3, 5]);
    let live: Vec<_> = driver.load().live.iter().map(|live| live.seq.0).collect();
    assert_eq!(live, [0, 2]);
    let overdue: Vec<_> = driver.overdue(Millis::MAX, 10).iter().map(|done| done.seq.0).collect();
    assert_eq!(overdue, [3, 5]);

    // The id and the sequence number can be reused, and the new job inherits no errors.
    let (mut new, mut live) = job(1);
    (new.seq, live.seq) = (Seq(9), Seq(9));
    driver.commit(vec![Mutation::Insert(new, live.into()), Mutation::Delete(Seq(2)), insert(2)]);
    assert_eq!(driver.resolve(&[id(1)])[0].as_ref().map(|found| found.seq), Some(Seq(9)));
    assert_eq!(driver.record(9).errors, [] as [Bytes; 0]);
    assert_eq!(driver.record(2).errors, [] as [Bytes; 0]);
}
