//! Looking up jobs by id and bodies by sequence number.

use rota_model::{Ending, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{finish, id, insert, job};
use crate::{Body, Mutation, NewRow};

pub fn ids_are_resolved_in_request_order<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((1..=4).map(insert).collect());
    driver.commit(vec![finish(2, Ending::Cancelled)]);
    let requested = [4, 77, 2, 4, 1, 77, 2];
    let found = driver.resolve(&requested.map(id));
    let seqs: Vec<_> = found.iter().map(|found| found.as_ref().map(|found| found.seq.0)).collect();
    assert_eq!(seqs, [Some(4), None, Some(2), Some(4), Some(1), None, Some(2)]);
    for (found, seq) in found.iter().zip(requested) {
        assert!(found.as_ref().is_none_or(|found| found.id == id(seq)));
    }
    assert!(driver.resolve(&[]).is_empty());
}

pub fn ids_with_a_sealed_sequence_number_are_resolved<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let key = driver.last.id_key;
    let sealed_id = |seq: u64| id(seq).seal(key, Seq(seq));
    let insert_sealed = |seq| {
        let (new, live) = job(seq);
        Mutation::Insert(NewRow { id: sealed_id(seq), given: false, ..new }, live.into())
    };
    // A client chose the id of job 3, and sealed in it is the sequence number of job 1.
    let (new, live) = job(3);
    let given = id(77).seal(key, Seq(1));
    let named = Mutation::Insert(NewRow { id: given, ..new }, live.into());
    driver.commit(vec![insert_sealed(1), insert_sealed(2), named]);
    let mut driver = driver.close_and_reopen();
    assert_eq!(driver.last.id_key, key, "the key never changes");
    let ids = [sealed_id(2), sealed_id(1), given, sealed_id(3), id(1), id(78).seal(key, Seq(2))];
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
