//! State transitions of a live job: each mutation changes its own columns and no others.

use rota_model::{Live, Millis, Seq, State};

use super::Fixture;
use super::driver::Driver;
use super::sample::{back_off, everything, job, pool, postpone, ready, worker};
use crate::{Claim, ListQuery, Mutation, Ready, Selection, Undo};

pub fn a_claim_sets_its_columns_only<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let before = start(&mut driver, |live| live.expires = Some(Millis(99)));
    driver.commit(vec![claim(Some("worker-1"), Some("pool-1"))]);
    let claimed = Live {
        state: State::Active,
        attempt: 2,
        started: Some(Millis(50)),
        due: Some(Millis(80)),
        reserved_ms: 30,
        worker: Some(worker("worker-1")),
        pool: Some(pool("pool-1")),
        ..before
    };
    expect(&mut driver, &claimed);
    driver.commit(vec![claim(None, Some("pool-2"))]);
    let claimed = Live { worker: None, pool: Some(pool("pool-2")), ..claimed };
    expect(&mut driver, &claimed);
    driver.commit(vec![claim(None, None)]);
    let claimed = Live { pool: None, ..claimed };
    expect(&mut driver, &claimed);
    expect(&mut driver.crash_and_reopen(), &claimed);
}

pub fn an_extension_moves_the_reservation<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let before = start(&mut driver, running);
    driver.commit(vec![Mutation::Extend { seq: Seq(1), due: Millis(500), reserved_ms: 450 }]);
    expect(&mut driver, &Live { due: Some(Millis(500)), reserved_ms: 450, ..before });
}

pub fn a_requested_cancellation_is_kept<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let before = start(&mut driver, running);
    driver.commit(vec![Mutation::RequestCancel(Seq(1))]);
    let asked = Live { marked: true, ..before };
    expect(&mut driver, &asked);
    expect(&mut driver.crash_and_reopen(), &asked);
}

pub fn a_failed_job_backs_off<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let before = start(&mut driver, running);
    driver.commit(vec![back_off(1, 700, None)]);
    let waiting = Live {
        state: State::Retryable,
        due: Some(Millis(700)),
        worker: None,
        pool: None,
        reserved_ms: 0,
        ..before
    };
    expect(&mut driver, &waiting);
    driver.commit(vec![ready(1, 700)]);
    let ready = Live { state: State::Available, enqueued: Millis(700), due: None, ..waiting };
    expect(&mut driver, &ready);
}

pub fn a_job_becomes_ready_again<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let before = start(&mut driver, running);
    let undo = Undo { attempt: 0, pauses: 3 };
    let hold = Ready { seq: Seq(1), enqueued: Millis(60), undo: Some(undo), held: true };
    driver.commit(vec![Mutation::Ready(hold)]);
    let held = Live {
        state: State::Available,
        attempt: 0,
        pauses: 3,
        enqueued: Millis(60),
        due: None,
        worker: None,
        pool: None,
        reserved_ms: 0,
        marked: true,
        ..before
    };
    expect(&mut driver, &held);
    driver.commit(vec![Mutation::Ready(Ready { undo: None, held: false, ..hold })]);
    expect(&mut driver, &Live { marked: false, ..held });
}

pub fn an_execution_that_does_not_count_is_undone<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let before = start(&mut driver, running);
    driver.commit(vec![back_off(1, 700, Some(Undo { attempt: 0, pauses: 1 }))]);
    let paused = Live {
        state: State::Retryable,
        attempt: 0,
        pauses: 1,
        due: Some(Millis(700)),
        worker: None,
        pool: None,
        reserved_ms: 0,
        ..before
    };
    expect(&mut driver, &paused);
    // Only another undo changes the number of pauses.
    driver.commit(vec![ready(1, 700), claim(None, Some("pool-1"))]);
    driver.commit(vec![back_off(1, 900, None)]);
    let failed = Live { attempt: 2, due: Some(Millis(900)), enqueued: Millis(700), ..paused };
    expect(&mut driver, &failed);
}

pub fn a_ready_job_is_postponed<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let before = start(&mut driver, |live| {
        live.attempt = 4;
        live.pauses = 2;
        live.started = Some(Millis(50));
        live.expires = Some(Millis(99));
        live.marked = true;
    });
    driver.commit(vec![postpone(1, 700)]);
    let later = Live { state: State::Scheduled, due: Some(Millis(700)), ..before };
    expect(&mut driver, &later);
    let scheduled = ListQuery { select: Selection::state(State::Scheduled), ..everything() };
    assert_eq!(driver.list_all(&scheduled), [1]);
    driver.commit(vec![ready(1, 800)]);
    let enqueued = Millis(800);
    let ready = Live { state: State::Available, enqueued, due: None, marked: false, ..later };
    expect(&mut driver, &ready);
    assert!(driver.list_all(&scheduled).is_empty());
}

fn claim(by: Option<&str>, for_pool: Option<&str>) -> Mutation {
    Mutation::Claim(Claim {
        seq: Seq(1),
        attempt: 2,
        started: Millis(50),
        due: Millis(80),
        reserved_ms: 30,
        worker: by.map(worker),
        pool: for_pool.map(pool),
    })
}

fn running(live: &mut Live) {
    live.state = State::Active;
    live.attempt = 1;
    live.started = Some(Millis(50));
    live.due = Some(Millis(80));
    live.expires = Some(Millis(99));
    live.worker = Some(worker("worker-1"));
    live.pool = Some(pool("pool-1"));
    live.reserved_ms = 30;
}

/// Inserts jobs 0 to 2, of which `make` prepares job 1. The neighbours must not change.
fn start<F: Fixture>(driver: &mut Driver<'_, F>, make: fn(&mut Live)) -> Live {
    let (new, mut live) = job(1);
    make(&mut live);
    let (before, after) = (job(0), job(2));
    driver.commit(vec![
        Mutation::Insert(before.0, before.1.into()),
        Mutation::Insert(new, live.clone().into()),
        Mutation::Insert(after.0, after.1.into()),
    ]);
    live
}

fn expect<F: Fixture>(driver: &mut Driver<'_, F>, live: &Live) {
    let expected = [job(0).1, live.clone(), job(2).1];
    assert_eq!(driver.load().live, expected);
    assert_eq!(driver.record(1).row, crate::JobRow::Live(live.clone()));
}
