//! Every read reports the size of the job's body.

use rota_model::{Done, Ending, Live, Millis, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{claim, everything, finish_until, id, job, size};
use crate::{JobRow, Mutation};

pub fn every_read_reports_the_body_size<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let sizes = [0, 1, 300, 70_000];
    driver.commit((0..).zip(sizes).map(|(seq, size)| insert_sized(seq, size)).collect());
    expect_sizes(&mut driver, &sizes);
    driver.commit((0..4).map(claim).collect());
    expect_sizes(&mut driver, &sizes);
    let mut driver = driver.crash_and_reopen();
    assert_eq!(driver.load().live.iter().map(|live| live.bytes).collect::<Vec<_>>(), sizes);
    driver.commit((0..4).map(|seq| finish_until(seq, Ending::Completed, Some(5))).collect());
    expect_sizes(&mut driver, &sizes);
    let overdue = driver.overdue(Millis(5), 10);
    assert_eq!(overdue.iter().map(|done| done.bytes).collect::<Vec<_>>(), sizes);
    let revive = |seq| Mutation::Revive { seq: Seq(seq), enqueued: Millis(7) };
    driver.commit((0..4).map(revive).collect());
    expect_sizes(&mut driver, &sizes);
    assert_eq!(driver.load().live.iter().map(|live| live.bytes).collect::<Vec<_>>(), sizes);
}

fn insert_sized(seq: u64, bytes: u32) -> Mutation {
    let (mut new, mut live) = job(seq);
    new.body = vec![b'x'; bytes as usize].into();
    live.bytes = size(&new.body);
    Mutation::Insert(new, live.into())
}

/// Checks that every read method reports these sizes for jobs 0, 1, 2 and so on.
fn expect_sizes<F: Fixture>(driver: &mut Driver<'_, F>, sizes: &[u32]) {
    let seqs: Vec<_> = (0..sizes.len() as u64).collect();
    let ids: Vec<_> = seqs.iter().map(|seq| id(*seq)).collect();
    let found = driver.resolve(&ids);
    let listed = driver.list(&everything()).records;
    for (n, size) in sizes.iter().enumerate() {
        let found = found[n].as_ref().expect("every job is found");
        assert_eq!(bytes_of(&found.row), *size);
        assert_eq!(bytes_of(&listed[n].row), *size);
        assert_eq!(bytes_of(&driver.record(seqs[n]).row), *size);
    }
}

fn bytes_of(row: &JobRow) -> u32 {
    match row {
        JobRow::Live(Live { bytes, .. }) | JobRow::Done(Done { bytes, .. }) => *bytes,
    }
}
