//! Evenly spaced starts, by the times that users see.

use crate::world::{World, job};
use rota_engine::{Command, EventKind, LimitKind, Now};
use rota_model::{LimitKey, Millis};
use serde_json::{Value, json};

fn throttle(limit: u32, period: &str) -> Value {
    json!({"key": "k", "throttle": {"limit": limit, "period": period}})
}

/// `started_at` of the jobs that start until then, when a worker asks every `step` milliseconds.
fn starts(world: &mut World, step: impl Fn(u64) -> u64, until: u64) -> Vec<i64> {
    let (mut starts, mut n) = (Vec::new(), 0);
    while world.mono < until {
        world.pass(step(n));
        n += 1;
        for claimed in world.fetch(50) {
            starts.push(claimed.started.0);
            world.ack(claimed.seq);
        }
    }
    starts
}

fn most_in_window(starts: &[i64], period: i64) -> usize {
    let (mut first, mut most) = (0, 0);
    for (i, at) in starts.iter().enumerate() {
        while starts[first] + period <= *at {
            first += 1;
        }
        most = most.max(i + 1 - first);
    }
    most
}

#[test]
fn the_limit_is_used_and_never_exceeded_at_any_rate() {
    for limit in [1, 3, 7, 10, 33, 60, 100, 250, 500, 1_000] {
        let mut world = World::new();
        world.enqueue(&job("a").limit(throttle(limit, "PT1S")), limit as usize * 6);
        let starts = starts(&mut world, |_| 1, 5_000);
        let interval = 1_000.0 / f64::from(limit);
        let least = if interval < 10.0 { interval - 5.0 } else { interval * 0.9 };
        let gaps = starts.windows(2).map(|two| (two[1] - two[0]) as f64);
        gaps.for_each(|gap| assert!(gap >= least, "{limit}: a gap of {gap}"));
        assert!(most_in_window(&starts, 1_000) <= limit as usize, "{limit}");
        let used = starts.len() as f64 / (5.0 * f64::from(limit));
        assert!(used >= 0.99, "{limit}: {used}");
    }
}

#[test]
fn workers_that_come_late_now_and_then_do_not_slow_a_throttle_down() {
    for limit in [10, 60, 100] {
        let mut world = World::new();
        world.enqueue(&job("a").limit(throttle(limit, "PT1S")), limit as usize * 11);
        // Once in a second, never at the same moment of it, it takes 20 milliseconds until somebody asks.
        let step = |n: u64| if n % 1_000 == n / 1_000 * 377 % 1_000 { 20 } else { 1 };
        let starts = starts(&mut world, step, 10_000);
        assert!(most_in_window(&starts, 1_000) <= limit as usize, "{limit}");
        let least = 900 / i64::from(limit);
        assert!(starts.windows(2).all(|two| two[1] - two[0] >= least), "{limit}");
        let used = starts.len() as f64 / (10.0 * f64::from(limit));
        assert!(used >= 0.99, "{limit}: {used}");
    }
}

#[test]
fn a_late_start_moves_the_next_only_as_far_as_the_gap_requires() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(throttle(10, "PT1S")), 20);
    let mut start_at = |at: u64| {
        world.pass(at - world.mono);
        world.fetch(5).len()
    };
    assert_eq!(start_at(60_000), 1);
    assert_eq!((start_at(60_089), start_at(60_090)), (0, 1), "nothing was saved up but a tenth");
    assert_eq!((start_at(60_189), start_at(60_190)), (0, 1));
    assert_eq!(start_at(60_300), 1, "a tenth of the interval too late");
    assert_eq!((start_at(60_389), start_at(60_390)), (0, 1), "moves nothing");
    assert_eq!(start_at(60_540), 1, "half of the interval too late");
    assert_eq!((start_at(60_629), start_at(60_630)), (0, 1), "moves the next");
    assert_eq!((start_at(60_719), start_at(60_720)), (0, 1), "and the one after it, by less");
}

#[test]
fn an_idle_throttle_saves_nothing_up() {
    for idle in [300, 1_000, 60_000, 86_400_000] {
        let mut world = World::new();
        let job = job("a").limit(throttle(10, "PT1S"));
        world.enqueue(&job, 1);
        assert_eq!(world.fetch(50).len(), 1);
        world.pass(idle);
        world.enqueue(&job, 20);
        let until = world.mono + 1_000;
        let mut starts = starts(&mut world, |n| u64::from(n > 0), until);
        assert!(most_in_window(&starts, 1_000) <= 11, "after {idle}: {starts:?}");
        let gaps = starts.windows(2).map(|two| two[1] - two[0]);
        assert!(gaps.min() >= Some(90), "after {idle}: {starts:?}");
        starts.dedup();
        assert!(starts.len() >= 10, "after {idle}: it goes on as before: {starts:?}");
    }
}

#[test]
fn a_clock_that_is_set_back_lets_nothing_start_too_early_by_the_times_that_are_shown() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(throttle(1, "PT10S")), 5);
    assert_eq!(world.fetch(1).len(), 1);
    let began = world.wall();
    let at = |world: &mut World, mono: u64, wall: i64| {
        world.mono = mono;
        world.apply(Command::Tick(Now { wall: Millis(began.0 + wall), mono, ahead_ms: 0 }));
        world.fetch(1).len()
    };
    assert_eq!(at(&mut world, 20_000, 4_000), 0, "the wall clock has run 4 seconds only");
    assert_eq!(at(&mut world, 25_999, 9_999), 0);
    assert_eq!(at(&mut world, 26_000, 10_000), 1);
    assert_eq!(at(&mut world, 27_000, 3_600_000), 0, "set forward: a second has passed");
    assert_eq!(at(&mut world, 36_000, 3_609_000), 1);
}

#[test]
fn how_many_have_started_is_told_and_not_the_limit() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(throttle(10, "PT1S")), 10);
    assert_eq!(world.fetch(5).len(), 1);
    assert!(world.fetch(5).is_empty());
    assert!(world.has_event(|e| matches!(
        e,
        EventKind::LimitExceeded { strategy: LimitKind::Throttle, limit: 10, current: 1, .. }
    )));
    assert!(world.engine.limit(&LimitKey::parse("k").unwrap(), None).is_some());
}
