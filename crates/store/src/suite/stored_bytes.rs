//! The bytes of each tenant's jobs, after every kind of change.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::{Class, ClassId, Ending, ErrorRow, Millis, Seq, TenantId};

use super::Fixture;
use super::driver::Driver;
use super::sample::{bytes, class, finish, job_of, size};
use crate::{ERRORS_KEPT, Finish, Mutation, Rewrite};

const ACME: u32 = 1;
const GLOBEX: u32 = 2;

pub(super) fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).expect("the sample tenant is valid")
}

/// Adds a class of this tenant.
pub(super) fn class_of(id: u32, name: &str) -> Mutation {
    let class = Class { tenant: tenant(name), ..Class::clone(&class("mail", id)) };
    Mutation::Class(ClassId(id), Arc::new(class))
}

fn classes() -> Vec<Mutation> {
    vec![class_of(ACME, "acme"), class_of(GLOBEX, "globex"), class_of(3, "acme")]
}

fn text(length: usize) -> Bytes {
    bytes(&"x".repeat(length))
}

fn insert(seq: u64, class: u32, length: usize) -> Mutation {
    let (mut new, mut live) = job_of(seq, class);
    new.body = text(length);
    live.bytes = size(&new.body);
    Mutation::Insert(new, live.into())
}

fn finish_with(seq: u64, ending: Ending, result: usize) -> Mutation {
    let result = Some(text(result));
    Mutation::Finish(Finish {
        seq: Seq(seq),
        ending,
        at: Millis(seq as i64),
        purge_at: None,
        result,
    })
}

fn error(seq: u64, length: usize) -> Mutation {
    Mutation::Error(ErrorRow { seq: Seq(seq), attempt: 1, json: text(length) })
}

fn expect<F: Fixture>(driver: &mut Driver<'_, F>, counted: &[(&str, u64)]) {
    let counted: Vec<_> = counted.iter().map(|(name, bytes)| (tenant(name), *bytes)).collect();
    assert_eq!(driver.load().stored, counted);
}

pub fn stored_bytes_follow_every_change_of_a_job<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let freed = |all: &[(&str, u64)]| -> Vec<_> {
        all.iter().map(|(name, bytes)| (tenant(name), *bytes)).collect()
    };
    let mut first = classes();
    first.extend([insert(1, ACME, 100), insert(2, ACME, 10), insert(3, GLOBEX, 1_000)]);
    assert_eq!(driver.commit(first).freed, []);
    expect(&mut driver, &[("acme", 110), ("globex", 1_000)]);

    // Results and errors.
    driver.commit(vec![finish_with(1, Ending::Completed, 7), error(2, 20)]);
    expect(&mut driver, &[("acme", 137), ("globex", 1_000)]);

    // The oldest errors make room for new ones.
    let many = (0..ERRORS_KEPT).map(|_| error(2, 3)).collect();
    assert_eq!(driver.commit(many).freed, freed(&[("acme", 20)]));
    let kept = 3 * ERRORS_KEPT as u64;
    expect(&mut driver, &[("acme", 117 + kept), ("globex", 1_000)]);

    // A finished job loses its result when it is revived, and keeps its errors.
    driver.commit(vec![finish_with(2, Ending::DeadLetter, 50)]);
    let revive = Mutation::Revive { seq: Seq(2), enqueued: Millis(9) };
    let replayed = |length| Mutation::Replayed(Seq(2), text(length));
    let committed = driver.commit(vec![revive.clone(), replayed(30)]);
    assert_eq!(committed.freed, freed(&[("acme", 50)]));
    expect(&mut driver, &[("acme", 147 + kept), ("globex", 1_000)]);
    assert_eq!(driver.commit(vec![replayed(31)]).freed, freed(&[("acme", 30)]));

    // Another body and class.
    let rewrite = Rewrite { seq: Seq(2), class: ClassId(3), body: text(4) };
    let committed = driver.commit(vec![Mutation::Rewrite(Box::new(rewrite))]);
    assert_eq!(committed.freed, freed(&[("acme", 10)]));
    expect(&mut driver, &[("acme", 142 + kept), ("globex", 1_000)]);

    let committed = driver.commit(vec![Mutation::Delete(Seq(2)), Mutation::Delete(Seq(3))]);
    assert_eq!(committed.freed, freed(&[("acme", 35 + kept), ("globex", 1_000)]));
    expect(&mut driver, &[("acme", 107)]);
    assert_eq!(driver.commit(vec![Mutation::Delete(Seq(1))]).freed, freed(&[("acme", 107)]));
    expect(&mut driver, &[]);
}

pub fn stored_bytes_survive_a_crash_and_a_refused_batch<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let mut first = classes();
    first.extend([insert(1, ACME, 100), insert(2, GLOBEX, 1_000)]);
    driver.commit(first);
    let refused = driver.next_batch(vec![
        insert(3, ACME, 5),
        Mutation::Delete(Seq(1)),
        Mutation::DropClass(ClassId(3)),
        finish(77, Ending::Completed),
    ]);
    driver.try_commit(&refused).expect_err("there is no job 77");
    expect(&mut driver, &[("acme", 100), ("globex", 1_000)]);
    let mut driver = driver.crash_and_reopen();
    expect(&mut driver, &[("acme", 100), ("globex", 1_000)]);
    let mut driver = driver.close_and_reopen();
    // The tenants of classes are read again.
    driver.commit(vec![finish_with(1, Ending::Completed, 1), Mutation::Delete(Seq(2))]);
    expect(&mut driver, &[("acme", 101)]);
}

pub fn a_batch_may_reuse_the_number_of_a_class_for_another_tenant<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let mut first = classes();
    first.push(insert(1, ACME, 100));
    driver.commit(first);
    let committed = driver.commit(vec![
        Mutation::Delete(Seq(1)),
        Mutation::DropClass(ClassId(ACME)),
        class_of(ACME, "initech"),
        insert(2, ACME, 30),
        insert(3, GLOBEX, 9),
        Mutation::Delete(Seq(3)),
    ]);
    assert_eq!(committed.freed, [(tenant("acme"), 100), (tenant("globex"), 9)]);
    expect(&mut driver, &[("initech", 30)]);
}
