//! Finished jobs whose retention time has passed.

use rota_model::{Ending, Millis, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{bytes, finish, finish_until, insert};
use crate::{Finish, Mutation};

pub fn overdue_jobs_are_ordered_by_purge_time<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((0..8).map(insert).collect());
    let times = [500, 100, 900, 300, 100, -5];
    let mut finishes: Vec<_> = (0..)
        .zip(times)
        .map(|(seq, purge_at)| finish_until(seq, Ending::ALL[seq as usize % 5], Some(purge_at)))
        .collect();
    finishes.push(Mutation::Finish(Finish {
        seq: Seq(6),
        ending: Ending::Completed,
        at: Millis(1),
        purge_at: Some(Millis(200)),
        result: Some(bytes("{}")),
    }));
    driver.commit(finishes);
    let mut seqs = |now, limit| -> Vec<u64> {
        driver.overdue(Millis(now), limit).iter().map(|done| done.seq.0).collect()
    };
    assert_eq!(seqs(1000, 100), [5, 1, 4, 6, 3, 0, 2]);
    assert_eq!(seqs(1000, 3), [5, 1, 4]);
    assert_eq!(seqs(300, 100), [5, 1, 4, 6, 3], "the instant itself is overdue");
    assert_eq!(seqs(299, 100), [5, 1, 4, 6]);
    assert_eq!(seqs(-6, 100), [] as [u64; 0]);
    assert_eq!(seqs(1000, 0), [] as [u64; 0]);

    let done = driver.overdue(Millis(200), 10).pop().expect("job 6 is overdue");
    assert_eq!((done.seq, done.result), (Seq(6), None), "results are left out");
    driver.commit(vec![Mutation::Delete(Seq(5)), Mutation::Delete(Seq(1))]);
    let left: Vec<_> = driver.overdue(Millis(200), 10).iter().map(|done| done.seq.0).collect();
    assert_eq!(left, [4, 6]);
}

/// `through` is the time up to which the returned jobs are all there are. Once they are deleted, the
/// engine tells the store so, and the store no longer looks at earlier times.
pub fn overdue_reports_through_which_time_it_is_complete<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((0..8).map(insert).collect());
    let finishes =
        (0..6).map(|seq| finish_until(seq, Ending::Completed, Some(100 + seq as i64 / 2)));
    driver.commit_at(Millis(102), finishes.collect());

    let whole = driver.overdue_page(Millis(1000), 100);
    assert_eq!(whole.jobs.len(), 6);
    assert_eq!(
        whole.through,
        Some(Millis(101)),
        "jobs may still finish that are to be purged at 102"
    );
    let part = driver.overdue_page(Millis(1000), 3);
    assert_eq!((part.jobs.len(), part.through), (3, Some(Millis(100))));
    assert_eq!(driver.overdue_page(Millis(1000), 1).through, None);

    driver.commit_at(Millis(102), vec![finish_until(6, Ending::Completed, Some(102))]);
    let deletions = (0..4).map(|seq| Mutation::Delete(Seq(seq)));
    driver.commit_at(Millis(103), deletions.chain([Mutation::Purged(Millis(101))]).collect());
    let mut driver = driver.crash_and_reopen();
    let rest = driver.overdue_page(Millis(1000), 100);
    assert_eq!(rest.jobs.iter().map(|job| job.seq.0).collect::<Vec<_>>(), [4, 5, 6]);
    assert_eq!(rest.through, Some(Millis(102)));
}

pub fn a_revived_job_is_overdue_by_its_last_end<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![insert(1)]);
    driver.commit(vec![finish_until(1, Ending::DeadLetter, Some(100))]);
    driver.commit(vec![Mutation::Revive { seq: Seq(1), enqueued: Millis(5) }]);
    assert!(driver.overdue(Millis(1000), 10).is_empty());
    driver.commit(vec![finish_until(1, Ending::Completed, Some(300))]);
    assert!(driver.overdue(Millis(299), 10).is_empty());
    assert_eq!(driver.overdue(Millis(300), 10).len(), 1);
    driver.commit_at(Millis(250), vec![Mutation::Purged(Millis(100))]);
    assert_eq!(driver.overdue(Millis(300), 10).len(), 1);
}

/// Otherwise the engine would delete the job twice, which is a contradiction.
pub fn a_revived_job_is_overdue_only_once<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![insert(1)]);
    for purge_at in [300, 100, 200, 100] {
        driver.commit(vec![finish_until(1, Ending::DeadLetter, Some(purge_at))]);
        driver.commit(vec![Mutation::Revive { seq: Seq(1), enqueued: Millis(5) }]);
    }
    driver.commit(vec![finish_until(1, Ending::Completed, Some(100))]);
    assert!(driver.overdue(Millis(99), 10).is_empty());
    assert_eq!(driver.overdue(Millis(1000), 10).len(), 1);
}

pub fn jobs_without_a_purge_time_are_never_overdue<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((0..3).map(insert).collect());
    driver.commit((0..2).map(|seq| finish(seq, Ending::ALL[seq as usize])).collect());
    assert!(driver.overdue(Millis(i64::MAX), 10).is_empty());
}
