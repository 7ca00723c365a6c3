//! From ids and sequence numbers to jobs.

use rota_model::{Ending, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{finish, id, insert, job};
use crate::Body;

pub fn ids_are_resolved_in_the_order_asked_for<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((1..=4).map(insert).collect());
    driver.commit(vec![finish(2, Ending::Cancelled)]);
    let asked = [4, 77, 2, 4, 1, 77, 2];
    let found = driver.resolve(&asked.map(id));
    let seqs: Vec<_> = found.iter().map(|found| found.as_ref().map(|found| found.seq.0)).collect();
    assert_eq!(seqs, [Some(4), None, Some(2), Some(4), Some(1), None, Some(2)]);
    for (found, seq) in found.iter().zip(asked) {
        assert!(found.as_ref().is_none_or(|found| found.id == id(seq)));
    }
    assert!(driver.resolve(&[]).is_empty());
}

pub fn bodies_are_read_by_sequence<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((1..=3).map(insert).collect());
    driver.commit(vec![finish(2, Ending::Completed)]);
    let body = |seq| {
        let (new, _) = job(seq);
        Some(Body { id: new.id, created: new.created, json: new.body })
    };
    let bodies = driver.bodies(&[3, 9, 2, 3].map(Seq));
    assert_eq!(bodies, [body(3), None, body(2), body(3)]);
    assert!(driver.bodies(&[]).is_empty());
}
