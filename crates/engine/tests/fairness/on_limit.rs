//! What becomes of jobs that would start and may not, and of those that met a limit elsewhere.

use crate::world::{Job, World, job};
use rota_engine::{Command, EventKind, Now, PutLimit};
use rota_model::{LimitKey, Millis, Seq, State};
use serde_json::{Value, json};

fn two_in_two_seconds(on_limit: &str) -> Value {
    json!({"key": "k", "rate": {"limit": 2, "period": "PT2S"}, "on_limit": on_limit})
}

/// When jobs were put off to, in milliseconds from now on, and forgets that.
fn put_off_to(world: &mut World) -> Vec<i64> {
    let now = world.wall().0;
    let due = std::mem::take(&mut world.events).into_iter().filter_map(|event| match event {
        EventKind::Scheduled { due, .. } => Some(due.0 - now),
        _ => None,
    });
    due.collect()
}

fn released(world: &mut World) -> Vec<Seq> {
    let events = std::mem::take(&mut world.events).into_iter();
    let released = events.filter_map(|event| match event {
        EventKind::LimitReleased { job, .. } => Some(job.seq),
        _ => None,
    });
    released.collect()
}

fn count(world: &World, state: State) -> u64 {
    world.engine.queue("default").unwrap().totals.of(state)
}

fn pause(world: &mut World, until: Option<Millis>) {
    world.apply(Command::PutLimit(Box::new(PutLimit {
        key: LimitKey::parse("k").unwrap(),
        tenant: None,
        numbers: None,
        feedback: None,
        paused_until: Some(until.unwrap_or(Millis(0))),
        reason: None,
    })));
}

#[test]
fn a_job_is_put_off_to_the_first_instant_at_which_the_limit_lets_it_in() {
    let mut world = World::new();
    let jobs = world.enqueue(&job("a").limit(two_in_two_seconds("reschedule")), 6);
    assert_eq!(world.fetch(6).len(), 2);
    assert_eq!(put_off_to(&mut world), [2_000, 2_000, 4_000, 4_000]);
    world.pass(1_999);
    assert!(world.fetch(6).is_empty());
    assert!(released(&mut world).is_empty());
    world.pass(1);
    assert!(released(&mut world).is_empty(), "they are back and have not started");
    assert_eq!(world.fetch(6).len(), 2);
    assert_eq!(released(&mut world), jobs[2..4]);
    world.enqueue(&job("a").limit(two_in_two_seconds("reschedule")), 1);
    assert!(world.fetch(6).is_empty());
    assert_eq!(put_off_to(&mut world), [4_000], "behind the two that come back in two seconds");
    world.pass(2_000);
    assert_eq!(world.fetch(6).len(), 2);
    world.pass(2_000);
    assert_eq!(world.fetch(6).len(), 1);
}

#[test]
fn throttled_jobs_are_put_off_by_an_interval_each() {
    let mut world = World::new();
    let limit = json!({"key": "k", "throttle": {"limit": 3, "period": "PT1S"},
                       "on_limit": "reschedule"});
    world.enqueue(&job("a").limit(limit), 5);
    world.fetch(1);
    world.fetch(4);
    let times = put_off_to(&mut world);
    assert_eq!(times.len(), 4);
    assert!(times.windows(2).all(|two| (300..=367).contains(&(two[1] - two[0]))), "{times:?}");
    assert!((1_300..=1_340).contains(&times[3]), "{times:?}");
}

#[test]
fn jobs_that_are_cancelled_give_up_the_places_that_were_theirs() {
    let mut world = World::new();
    let limit = two_in_two_seconds("reschedule");
    let jobs = world.enqueue(&job("a").limit(limit.clone()), 202);
    assert_eq!(world.fetch(202).len(), 2);
    world.pass(1);
    assert_eq!(count(&world, State::Scheduled), 200);
    for seq in &jobs[2..] {
        let target = world.target(*seq);
        world.apply(Command::Cancel(vec![target]));
    }
    world.events.clear();
    world.enqueue(&job("a").limit(limit), 1);
    world.fetch(1);
    assert_eq!(put_off_to(&mut world), [1_999]);
}

#[test]
fn a_pause_drops_nothing_and_puts_nothing_off() {
    for on_limit in ["drop", "reschedule"] {
        let mut world = World::new();
        world.enqueue(&job("a").limit(two_in_two_seconds(on_limit)), 2);
        let until = Millis(world.wall().0 + 60_000);
        pause(&mut world, Some(until));
        assert!(world.fetch(5).is_empty());
        world.pass(30_000);
        assert!(world.fetch(5).is_empty());
        assert_eq!(count(&world, State::Available), 2, "{on_limit}");
        world.pass(30_000);
        world.enqueue(&job("a").limit(two_in_two_seconds(on_limit)), 3);
        assert_eq!(world.fetch(5).len(), 2, "{on_limit}");
        world.pass(1);
        assert_eq!(count(&world, State::Available), 0, "{on_limit} is what it was");
    }
}

#[test]
fn a_pause_that_is_ended_and_a_key_that_is_opened_let_jobs_go_on() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(two_in_two_seconds("drop")), 2);
    let until = Millis(world.wall().0 + 60_000);
    pause(&mut world, Some(until));
    assert!(world.fetch(5).is_empty());
    pause(&mut world, None);
    assert_eq!(world.fetch(1).len(), 1);
    world.say("k", json!({"concurrency": 0}), Some(10_000));
    assert!(world.fetch(5).is_empty());
    assert_eq!((count(&world, State::Available), count(&world, State::Discarded)), (1, 0));
    world.pass(10_000);
    assert_eq!(world.fetch(5).len(), 1);
}

#[test]
fn a_limit_elsewhere_saves_no_job_from_a_final_failure() {
    let key = || json!({"key": "k", "concurrency": 5});
    let mut world = World::new();
    world.enqueue(&job("a").limit(key()), 2);
    let until = Millis(world.wall().0 + 30_000);
    let first = world.fetch(1).remove(0).seq;
    assert_eq!(world.fail(first, Some(until), false).state, State::Discarded);
    assert!(world.fetch(5).is_empty(), "the key is paused all the same");
    assert!(world.has_event(|e| matches!(e, EventKind::LimitAdjusted { until: Some(_), .. })));

    let mut world = World::new();
    world.enqueue(&job("a").limit(key()), 1);
    let seq = world.fetch(1).remove(0).seq;
    let most = world.fail(seq, None, true).max_attempts;
    for attempt in 2..=most {
        world.pass(86_400_000);
        let claimed = world.fetch(1).remove(0);
        assert_eq!(claimed.attempt, attempt);
        let until = (attempt == most).then(|| Millis(world.wall().0 + 30_000));
        let state = if attempt == most { State::Discarded } else { State::Retryable };
        assert_eq!(world.fail(seq, until, true).state, state);
    }
    let view = world.engine.limit(&LimitKey::parse("k").unwrap(), None).unwrap();
    assert!(view.paused_until.is_some());
}

#[test]
fn jobs_that_were_put_off_keep_their_instants_over_a_restart() {
    let mut world = World::new();
    let limit = two_in_two_seconds("reschedule");
    let jobs = world.enqueue(&job("a").limit(limit.clone()), 6);
    world.fetch(6).into_iter().for_each(|claimed| world.ack(claimed.seq));
    // One that was not put off has no place before others.
    world.try_enqueue(&[Job { start_in: Some(60_000), ..job("a").limit(limit.clone()) }], 0);
    world.events.clear();
    world.crash(500);
    world.enqueue(&job("a").limit(limit), 3);
    assert!(world.fetch(6).is_empty());
    assert_eq!(put_off_to(&mut world), [5_500, 5_500, 7_500], "behind the four of before");
    world.pass(1_500);
    assert_eq!(world.fetch(6).len(), 2);
    assert_eq!(released(&mut world), jobs[2..4]);
    world.crash(2_000);
    assert_eq!(world.fetch(6).len(), 2);
    assert_eq!(released(&mut world), jobs[4..6]);
    world.pass(56_500);
    assert_eq!(world.fetch(6).len(), 2);
    world.pass(2_000);
    assert_eq!(world.fetch(6).len(), 2);
    assert_eq!(released(&mut world).len(), 3, "the scheduled one met no limit");
}

#[test]
fn a_job_that_comes_back_before_its_limit_opens_is_said_to_be_released_when_it_starts() {
    let mut world = World::new();
    let jobs = world.enqueue(&job("a").limit(two_in_two_seconds("reschedule")), 3);
    world.fetch(3);
    world.events.clear();
    // The wall clock is ahead of the clock of limits by three milliseconds.
    let wall = world.wall().0;
    world.mono += 1_997;
    let now = Now { wall: Millis(wall + 2_000), mono: world.mono, ahead_ms: 0 };
    world.apply(Command::Tick(now));
    assert_eq!(count(&world, State::Available), 1, "it is due");
    assert!(released(&mut world).is_empty(), "its limit is closed");
    world.mono += 3;
    world.apply(Command::Tick(Now { wall: Millis(wall + 2_003), mono: world.mono, ahead_ms: 0 }));
    assert_eq!(world.fetch(1).len(), 1);
    assert_eq!(released(&mut world), jobs[2..]);
}
