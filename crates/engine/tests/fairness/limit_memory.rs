//! How long starts of a key are remembered, and when the key is forgotten.

use crate::world::{World, concurrency, job, name, rate};
use rota_engine::{Command, Config, Now};
use rota_model::LimitKey;
use serde_json::json;

#[test]
fn a_longer_period_counts_what_started_before_it_was_asked_for() {
    let declared = |world: &mut World| {
        world.say("k", json!({"rate": {"limit": 3, "period": "PT1H"}}), None);
    };
    let replaced = |world: &mut World| {
        world.say("k", json!({"rate": {"limit": 3, "period": "PT1H"}}), Some(3_600_000));
    };
    let carried = |world: &mut World| {
        world.enqueue(&job("b").limit(rate("k", 3, "PT1H")), 5);
    };
    for change in [&declared as &dyn Fn(&mut World), &replaced, &carried] {
        for restart in [false, true] {
            let mut world = World::new();
            world.enqueue(&job("a").limit(rate("k", 1, "PT1S")), 2);
            assert_eq!(world.fetch(5).len(), 1);
            world.pass(30_000);
            assert_eq!(world.fetch(5).len(), 1);
            world.pass(30_000);
            if restart {
                world.crash(0);
            }
            change(&mut world);
            world.enqueue(&job("b").limit(rate("k", 3, "PT1H")), 5);
            assert_eq!(world.fetch(5).len(), 1, "two of the three started before");
            assert!(world.fetch(5).is_empty());
        }
    }
}

#[test]
fn a_longer_period_that_was_not_written_out_knows_earlier_starts_after_a_restart() {
    let mut world = World::with(Config { journal_entries: 1, ..Config::default() });
    world.enqueue(&job("a").limit(rate("k", 1, "PT1S")), 2);
    for _ in 0..2 {
        assert_eq!(world.fetch(5).len(), 1);
        world.pass(2_000);
    }
    world.enqueue(&job("b").limit(rate("k", 3, "PT1H")), 5);
    world.crash(0);
    assert_eq!(world.fetch(5).len(), 1, "two of the three started before");
    assert!(world.fetch(5).is_empty());
}

#[test]
fn keys_without_jobs_are_forgotten_when_their_starts_and_pauses_are_over() {
    for restart in [false, true] {
        let mut world = World::new();
        for n in 0..300 {
            let limit = match n % 3 {
                0 => concurrency(name(format!("k{n}")), 1),
                1 => rate(name(format!("k{n}")), 1, "PT1S"),
                _ => rate(name(format!("k{n}")), 5, "PT10M"),
            };
            world.enqueue(&job("a").limit(limit), 1);
        }
        world.say("k0", json!({"concurrency": 2}), None);
        world.say("k3", json!({"concurrency": 2}), Some(3_600_000));
        let claimed = world.fetch(300);
        assert_eq!(claimed.len(), 300);
        assert_eq!(world.engine.limit_count(), 300);
        claimed.iter().for_each(|job| world.ack(job.seq));
        if restart {
            world.crash(0);
        }
        let mut later = |ms: u64| {
            world.pass(ms);
            (world.engine.limit_count(), world.limit_rows())
        };
        assert_eq!(later(10_000).0, 202, "those that have no starts to remember, but two");
        assert_eq!(later(50_000).0, 102, "a minute at least");
        let (known, rows) = later(540_000);
        assert_eq!((known, rows), (2, 0), "and their period");
        assert_eq!(later(3_600_000).0, 1, "the one that was declared stays");
    }
}

#[test]
fn a_key_that_is_forgotten_begins_anew() {
    let mut world = World::new();
    let limit = json!({"key": "k", "concurrency": 1});
    for _ in 0..3 {
        world.enqueue(&job("a").limit(limit.clone()), 2);
        for _ in 0..2 {
            let claimed = world.fetch(5);
            assert_eq!(claimed.len(), 1);
            world.ack(claimed[0].seq);
        }
        world.pass(20_000);
        assert!(world.engine.limit(&LimitKey::parse("k").unwrap(), None).is_none());
    }
}

#[test]
fn forgetting_many_keys_takes_many_short_steps() {
    let mut world = World::new();
    let keys = 2_000;
    for n in 0..keys {
        world.enqueue(&job("a").limit(concurrency(name(format!("k{n}")), 1)), 1);
    }
    for claimed in world.fetch(keys) {
        world.ack(claimed.seq);
    }
    let now = world.engine.now();
    let (wall, mono) = (now.wall.saturating_add_ms(10_000), now.mono + 10_000);
    let mut left = keys;
    for _ in 0..100 {
        world.apply(Command::Tick(Now { wall, mono, ahead_ms: 0 }));
        let known = world.engine.limit_count();
        assert!(known + 300 > left, "{left} became {known} in one step");
        left = known;
        assert_eq!(left > 0, world.engine.wake_in_ms() == Some(0));
    }
    assert_eq!(left, 0);
}
