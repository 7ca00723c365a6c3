//! A reopened store has exactly the committed state, after a clean close and after a crash.

use rota_model::{ClassId, Ending, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{bytes, claim, class, error, finish, insert, insert_of};
use crate::{Counts, Mutation, RowKind};

pub fn a_closed_store_reopens_the_same<F: Fixture>(fixture: &F) {
    reopens_the_same(fixture, Driver::close_and_reopen);
}

pub fn a_crashed_store_reopens_the_same<F: Fixture>(fixture: &F) {
    reopens_the_same(fixture, Driver::crash_and_reopen);
}

fn reopens_the_same<'f, F: Fixture>(fixture: &'f F, reopen: fn(Driver<'f, F>) -> Driver<'f, F>) {
    let mut driver = reopen(Driver::open(fixture));
    driver.commit(vec![
        Mutation::Class(ClassId(1), class("default", 3)),
        Mutation::Counts(ClassId(1), Counts([1, 2, 3, 4, 5])),
        Mutation::Put(RowKind::Queue, "default".into(), bytes(r#"{"paused":true}"#)),
    ]);
    for round in 0..5 {
        let first = round * 20;
        driver.commit((first..first + 20).map(|seq| insert_of(seq, 1)).collect());
        driver.commit((first..first + 10).map(claim).collect());
        driver.commit((first..first + 5).map(|seq| finish(seq, Ending::Completed)).collect());
        driver.commit(vec![error(first + 6, 1), Mutation::Delete(Seq(first + 1))]);
        if round % 2 == 0 {
            driver.tidy();
        }
        let seqs: Vec<_> = (0..first + 21).map(Seq).collect();
        let (image, records) = (driver.load(), driver.records(&seqs));
        driver = reopen(driver);
        assert_eq!(driver.load(), image);
        assert_eq!(driver.records(&seqs), records);
    }
    driver.commit(vec![insert(1000)]);
    assert_eq!(driver.last.number, 22);
}
