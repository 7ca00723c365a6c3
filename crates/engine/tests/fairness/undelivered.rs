//! Claims that nobody received do not use limits up.

use crate::world::{World, job};
use rota_engine::{Claimed, Command, Undelivered};
use serde_json::{Value, json};

fn once_an_hour(how: &str) -> Value {
    json!({"key": "k", how: {"limit": 1, "period": "PT1H"}})
}

fn undelivered(claimed: &Claimed, partly_sent: bool) -> Command {
    let claims = vec![(claimed.seq, claimed.attempt)];
    Command::Undelivered(Undelivered { claims, partly_sent })
}

fn take_back(world: &mut World) {
    let claimed = world.fetch(1).remove(0);
    world.pass(50);
    world.apply(undelivered(&claimed, false));
}

#[test]
fn a_claim_that_nobody_received_leaves_the_limit_open() {
    for how in ["rate", "throttle"] {
        let mut world = World::new();
        let jobs = world.enqueue(&job("a").limit(once_an_hour(how)), 2);
        take_back(&mut world);
        let got = world.fetch(2);
        assert_eq!(got.iter().map(|claimed| claimed.seq).collect::<Vec<_>>(), jobs[..1], "{how}");
        assert!(world.fetch(1).is_empty(), "{how}: this one counts");
    }
}

#[test]
fn a_claim_that_nobody_received_does_not_count_after_a_restart_and_others_do() {
    for how in ["rate", "throttle"] {
        let mut world = World::new();
        world.enqueue(&job("a").limit(once_an_hour(how)), 2);
        take_back(&mut world);
        world.crash(100);
        assert_eq!(world.fetch(2).len(), 1, "{how}");
        world.crash(100);
        assert!(world.fetch(2).is_empty(), "{how}");
        world.pass(3_600_000);
        assert_eq!(world.fetch(2).len(), 1, "{how}");
    }
}

#[test]
fn other_starts_of_the_same_moment_and_later_ones_stay_counted() {
    let mut world = World::new();
    let limit = json!({"key": "k", "rate": {"limit": 3, "period": "PT1H"}});
    world.enqueue(&job("a").limit(limit), 6);
    let first = world.fetch(2).remove(0);
    world.pass(1_000);
    assert_eq!(world.fetch(2).len(), 1);
    assert!(world.fetch(1).is_empty());
    world.apply(undelivered(&first, false));
    assert_eq!(world.fetch(2).len(), 1);
    world.crash(100);
    assert!(world.fetch(2).is_empty());
    world.pass(3_598_900);
    assert_eq!(world.fetch(6).len(), 1, "an hour after the one of the first moment that counts");
}

#[test]
fn a_claim_that_was_partly_sent_goes_back_and_still_counts_as_a_start() {
    for how in ["rate", "throttle"] {
        let mut world = World::new();
        let jobs = world.enqueue(&job("a").limit(once_an_hour(how)), 2);
        let claimed = world.fetch(1).remove(0);
        world.apply(undelivered(&claimed, true));
        world.crash(100);
        assert!(world.fetch(1).is_empty(), "{how}: the worker may have begun");
        world.pass(3_600_000);
        let again = world.fetch(1).remove(0);
        assert_eq!((again.seq, again.attempt), (jobs[0], 1), "{how}: the attempt did not count");
    }
}

#[test]
fn a_fetch_claims_no_more_once_it_has_its_bytes() {
    let mut world = World::new();
    let jobs = world.enqueue(&crate::world::Job { size: 1_000, ..job("a") }, 9);
    let mut fetch =
        |max_bytes| world.fetch_with(&["default"], 9, |fetch| fetch.max_bytes = max_bytes);
    let seqs = |claimed: Vec<rota_engine::Claimed>| -> Vec<_> {
        claimed.iter().map(|claimed| claimed.seq).collect()
    };
    assert_eq!(seqs(fetch(0)), jobs[..1], "at least one");
    assert_eq!(seqs(fetch(2_000)), jobs[1..3]);
    assert_eq!(seqs(fetch(2_001)), jobs[3..6]);
    assert_eq!(seqs(fetch(u64::MAX)), jobs[6..]);
}
