//! Long bodies and large batches.

use bytes::Bytes;
use rota_model::{Ending, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{claim, everything, finish, id, insert, job, size};
use crate::{Finish, JobRow, ListQuery, Mutation, Selection};

pub fn a_long_body_is_stored<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let long: Bytes = (0..1 << 20).map(|i: u32| (i.wrapping_mul(31) >> 3) as u8).collect();
    let (mut new, mut live) = job(1);
    new.body = long.clone();
    live.bytes = size(&long);
    driver.commit(vec![Mutation::Insert(new, live.into()), insert(2)]);
    driver.commit(vec![Mutation::Finish(Finish {
        seq: Seq(1),
        ending: Ending::Completed,
        at: job(1).0.created,
        purge_at: None,
        result: Some(long.clone()),
    })]);
    let mut driver = driver.crash_and_reopen();
    let record = driver.record(1);
    assert!(record.body.json == long, "the body is the same");
    let JobRow::Done(done) = record.row else { panic!("it has finished") };
    assert!(done.result == Some(long), "the result is the same");
    assert_eq!(driver.record(2).body.json, job(2).0.body);
}

pub fn ten_thousand_jobs_fit_in_a_batch<F: Fixture>(fixture: &F) {
    const COUNT: u64 = 10_000;
    let mut driver = Driver::open(fixture);
    driver.commit((0..COUNT).map(insert).collect());
    assert_eq!(driver.load().live.len(), COUNT as usize);
    driver.commit((0..COUNT).map(claim).collect());
    driver.commit((0..COUNT / 2).map(|seq| finish(seq, Ending::Completed)).collect());
    assert_eq!(driver.load().live.len(), COUNT as usize / 2);
    let ids: Vec<_> = (0..COUNT).map(id).collect();
    assert!(driver.resolve(&ids).iter().all(Option::is_some));
    assert_eq!(driver.list_all(&everything()), (0..COUNT).collect::<Vec<_>>());
    driver.commit((0..COUNT).map(|seq| Mutation::Delete(Seq(seq))).collect());
    assert!(driver.load().live.is_empty());
    let page = driver.list(&ListQuery { select: Selection::ALL, ..everything() });
    assert!(page.records.is_empty() && page.next.is_none());
}
