//! Every reader sees a batch as soon as its commit has returned.

use rota_model::{Ending, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{claim, created, finish_until, id, insert};
use crate::{Mutation, Reader};

pub fn a_commit_is_visible_at_once<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let mut other = driver.another_reader();
    let past = Some(created(0).0);
    for seq in 0..50 {
        driver.commit(vec![insert(seq)]);
        assert!(driver.resolve(&[id(seq)])[0].is_some());
        driver.commit(vec![claim(seq)]);
        let bodies =
            driver.block_on(other.bodies(&[Seq(seq)], usize::MAX)).expect("bodies are read");
        assert!(bodies[0].is_some());
        driver.commit(vec![finish_until(seq, Ending::Completed, past)]);
        let overdue = driver.block_on(other.overdue(created(0), 10)).expect("jobs are read");
        assert_eq!(overdue.jobs.len(), 1);
        driver.commit(vec![Mutation::Delete(Seq(seq))]);
        assert_eq!(driver.resolve(&[id(seq)]), [None]);
        let found = driver.block_on(other.resolve(&[id(seq)])).expect("ids resolve");
        assert_eq!(found, [None]);
    }
}
