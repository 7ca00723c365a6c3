//! From ids and sequence numbers to jobs.

use rota_model::{Ending, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{finish, id, insert, job};
use crate::{Body, Mutation, NewRow};

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

pub fn ids_that_hold_their_number_are_resolved<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let key = driver.last.id_key;
    let made = |seq: u64| id(seq).seal(key, Seq(seq));
    let insert_made = |seq| {
        let (new, live) = job(seq);
        Mutation::Insert(NewRow { id: made(seq), given: false, ..new }, live.into())
    };
    // Job 3 was named by a client, with what looks like the id of job 1.
    let (new, live) = job(3);
    let given = id(77).seal(key, Seq(1));
    let named = Mutation::Insert(NewRow { id: given, ..new }, live.into());
    driver.commit(vec![insert_made(1), insert_made(2), named]);
    let mut driver = driver.close_and_reopen();
    assert_eq!(driver.last.id_key, key, "the key never changes");
    let ids = [made(2), made(1), given, made(3), id(1), id(78).seal(key, Seq(2))];
    let found = driver.resolve(&ids);
    let seqs: Vec<_> = found.iter().map(|found| found.as_ref().map(|found| found.seq.0)).collect();
    assert_eq!(seqs, [Some(2), Some(1), Some(3), None, None, None]);
    driver.commit(vec![Mutation::Delete(Seq(1)), Mutation::Delete(Seq(3))]);
    let found = driver.resolve(&ids);
    assert!(found[0].is_some() && found[1..].iter().all(Option::is_none));
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
