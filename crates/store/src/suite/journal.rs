//! Journal entries and how they are trimmed.

use bytes::Bytes;

use super::Fixture;
use super::driver::Driver;
use super::sample::{bytes, insert};
use crate::{ApplyError, Mutation};

pub fn journal_entries_are_stored_by_batch_number<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let long = Bytes::from(vec![0xff; 100_000]);
    driver.commit(vec![entry("first")]);
    driver.commit(vec![insert(1)]);
    driver.commit(vec![insert(2), Mutation::Journal(long.clone()), insert(3)]);
    driver.commit(vec![entry("")]);
    let expected = [(1, bytes("first")), (3, long), (4, Bytes::new())];
    assert_eq!(driver.load().journal, expected);
    let mut driver = driver.crash_and_reopen();
    assert_eq!(driver.load().journal, expected);
    let mut driver = driver.close_and_reopen();
    assert_eq!(driver.load().journal, expected);
}

pub fn trimming_removes_earlier_journal_entries<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    for _ in 1..=5 {
        driver.commit(vec![entry("e")]);
    }
    driver.commit(vec![Mutation::TrimJournal(0), Mutation::TrimJournal(1)]);
    assert_eq!(numbers(&mut driver), [1, 2, 3, 4, 5]);
    driver.commit(vec![entry("e"), Mutation::TrimJournal(4)]);
    assert_eq!(numbers(&mut driver), [4, 5, 7]);
    // A trim also removes the entry of its own batch, unless the entry comes after it.
    driver.commit(vec![Mutation::TrimJournal(9), entry("e")]);
    assert_eq!(numbers(&mut driver), [8]);
    let mut driver = driver.crash_and_reopen();
    assert_eq!(numbers(&mut driver), [8]);
    driver.commit(vec![entry("e"), Mutation::TrimJournal(u64::MAX)]);
    assert!(numbers(&mut driver).is_empty());
    assert!(numbers(&mut driver.close_and_reopen()).is_empty());
}

pub fn a_batch_has_at_most_one_journal_entry<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![entry("kept")]);
    let batch = driver.next_batch(vec![entry("one"), insert(1), entry("two")]);
    let result = driver.try_commit(&batch);
    assert!(matches!(result, Err(ApplyError::Fatal(_))), "{result:?}");
    assert_eq!(driver.load().journal, [(1, bytes("kept"))]);
    assert!(driver.load().live.is_empty(), "nothing of the batch is there");
}

fn entry(text: &str) -> Mutation {
    Mutation::Journal(bytes(text))
}

fn numbers<F: Fixture>(driver: &mut Driver<'_, F>) -> Vec<u64> {
    driver.load().journal.into_iter().map(|(number, _)| number).collect()
}
