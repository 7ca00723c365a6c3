//! A batch whose last mutation fails changes nothing.

use rota_model::{ClassId, Ending, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{bytes, claim, class, error, everything, finish, insert};
use crate::{ApplyError, Batch, Mutation, RowKind};

pub fn a_batch_is_all_or_nothing<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![insert(1), insert(2), insert(3), finish(3, Ending::Completed)]);
    let before = driver.load();
    let records = driver.records(&[Seq(1), Seq(2), Seq(3)]);

    let batch = driver.next_batch(vec![
        Mutation::Class(ClassId(7), class("seventh", 3)),
        Mutation::Put(RowKind::Setting, "setting".into(), bytes("1")),
        insert(4),
        error(1, 1),
        finish(1, Ending::DeadLetter),
        Mutation::Delete(Seq(3)),
        Mutation::Delete(Seq(2)),
        // Job 4 exists by now, so this one fails.
        insert(4),
    ]);
    let result = driver.try_commit(&batch);
    assert!(matches!(result, Err(ApplyError::Fatal(_))), "{result:?}");
    assert_eq!(driver.load(), before);
    assert_eq!(driver.records(&[Seq(1), Seq(2), Seq(3)]), records);
    assert_eq!(driver.list_all(&everything()), [1, 2, 3]);

    let mut driver = driver.crash_and_reopen();
    assert_eq!(driver.load(), before);
    assert_eq!(driver.records(&[Seq(1), Seq(2), Seq(3)]), records);
}

pub fn batches_of_a_portion_are_all_or_none<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![insert(1)]);
    let before = driver.load();
    let first = driver.next_batch(vec![insert(2), claim(1)]);
    // Job 1 exists by now, so this one fails.
    let second = Batch { number: first.number + 1, mutations: vec![insert(1)], ..first.clone() };
    let result = driver.try_apply(&[first, second]);
    assert!(matches!(result, Err(ApplyError::Fatal(_))), "{result:?}");
    assert_eq!(driver.load(), before);
    driver.commit(vec![insert(2)]);
    assert_eq!(driver.list_all(&everything()), [1, 2]);
}
