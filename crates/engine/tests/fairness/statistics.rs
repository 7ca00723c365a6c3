//! Minutes and hours of queues: written down completely, and in bounded steps.

use rota_engine::{Command, Config, Interval, Reply};
use rota_model::QueueName;

use crate::world::{World, cap_queues, job, name};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 3_600_000;

/// Jobs enqueued according to the history, over all queues and under the name of all together.
fn enqueued(world: &World, length: i64) -> (u64, u64) {
    let rows = || world.history.iter().filter(|((ms, ..), _)| *ms == length);
    let of = |all: bool| {
        let rows = rows().filter(|((_, queue, _), _)| queue.is_empty() == all);
        rows.map(|(_, interval)| interval.enqueued).sum()
    };
    (of(false), of(true))
}

#[test]
fn closing_a_minute_is_bounded_however_many_queues_there_are() {
    let mut world = World::with(Config { caps: cap_queues(2_000), ..Config::default() });
    for n in 0..2_000 {
        world.enqueue(&job("a").queue(name(format!("q{n}"))), 1);
    }
    world.batch_sizes.clear();
    world.pass(MINUTE as u64);
    let most = world.batch_sizes.iter().max().unwrap();
    assert!(*most <= 300, "{most} mutations in a step");
    assert!(world.batch_sizes.len() > 10);
    assert_eq!(enqueued(&world, MINUTE), (2_000, 2_000));
    assert_eq!(enqueued(&world, HOUR), (0, 0));
    // Queues in which nothing happened cost nothing.
    world.batch_sizes.clear();
    world.pass(MINUTE as u64);
    assert!(world.batch_sizes.iter().sum::<usize>() < 20, "{:?}", world.batch_sizes);
    // The hour is over.
    world.batch_sizes.clear();
    world.pass(HOUR as u64);
    let most = world.batch_sizes.iter().max().unwrap();
    assert!(*most <= 500, "{most} mutations in a step");
    assert_eq!(enqueued(&world, HOUR), (2_000, 2_000));
    assert_eq!(enqueued(&world, MINUTE), (2_000, 2_000));
}

#[test]
fn what_is_counted_while_the_minute_before_is_still_open_goes_to_the_next() {
    let mut world = World::new();
    let queues: Vec<&'static str> = (0..600).map(|n| name(format!("q{n}"))).collect();
    for round in 1..=180u64 {
        for queue in queues.iter().skip(round as usize % 7).step_by(97) {
            world.enqueue(&job("a").queue(queue), 1);
        }
        world.pass(23_456);
    }
    let sent = world.engine.next_seq().0 - 1;
    world.pass(2 * HOUR as u64);
    assert_eq!(enqueued(&world, MINUTE), (sent, sent));
    assert_eq!(enqueued(&world, HOUR), (sent, sent));
    let total = |(_, queue, at): &(i64, String, i64)| (queue.is_empty(), *at);
    let minutes = world.history.keys().filter(|(ms, ..)| *ms == MINUTE);
    let minutes = minutes.map(total).filter(|(all, _)| *all).count();
    assert!(minutes > 60, "{minutes}");
}

/// The minute under way as a queue and all queues together show it.
fn minutes(world: &World, queue: &str) -> [Interval; 2] {
    let of_queue = world.engine.queue(queue).map(|view| view.minute).unwrap_or_default();
    [of_queue, world.engine.minute()]
}

fn run_some(world: &mut World, queue: &'static str, count: usize) {
    world.enqueue(&job("a").queue(queue), count);
    world.pass(123);
    for (n, claimed) in world.fetch_with(&[queue], count, |_| {}).into_iter().enumerate() {
        world.pass(n as u64 * 7);
        if n % 3 == 2 {
            world.fail(claimed.seq, None, false);
        } else {
            world.ack(claimed.seq);
        }
    }
}

#[test]
fn the_minute_under_way_survives_a_crash() {
    // Written out after nearly every batch, now and then, or never.
    for journal_entries in [1, 20, 100_000] {
        let mut world = World::with(Config { journal_entries, ..Config::default() });
        for round in 0..12 {
            run_some(&mut world, "q", 5);
            run_some(&mut world, "r", 2);
            let before = minutes(&world, "q");
            assert!(before[0].enqueued >= 5 && before[0].completed >= 4, "{before:?}");
            assert!(before[0].run_ms.count() >= 4 && before[0].wait_ms.count() >= 5);
            world.crash(0);
            assert_eq!(minutes(&world, "q"), before, "round {round}");
            if round % 4 == 3 {
                world.pass(MINUTE as u64);
            }
        }
        // Another crash, in a later minute: what was under way is over.
        run_some(&mut world, "q", 5);
        world.crash(5 * MINUTE as u64);
        assert_eq!(minutes(&world, "q"), [Interval::default(), Interval::default()]);
        assert_eq!(enqueued(&world, MINUTE), (12 * 7 + 5, 12 * 7 + 5));
        world.crash(2 * HOUR as u64);
        assert_eq!(enqueued(&world, MINUTE), (12 * 7 + 5, 12 * 7 + 5));
        assert_eq!(enqueued(&world, HOUR), (12 * 7 + 5, 12 * 7 + 5));
        let sum = |length, all| {
            let rows = world.history.iter();
            let rows = rows.filter(|((ms, queue, _), _)| *ms == length && queue.is_empty() == all);
            let mut sum = Interval::default();
            rows.for_each(|(_, interval)| sum.merge(interval));
            sum
        };
        assert_eq!(sum(MINUTE, true), sum(MINUTE, false));
        assert_eq!(sum(HOUR, true), sum(MINUTE, true));
        assert_eq!(sum(HOUR, false), sum(MINUTE, true));
    }
}

#[test]
fn a_crash_just_after_the_hour_loses_nothing_of_the_hour_before() {
    let mut world = World::with(Config { caps: cap_queues(2_000), ..Config::default() });
    world.pass((HOUR - world.wall().0 % HOUR - 1_000) as u64);
    for n in 0..1_000 {
        world.enqueue(&job("a").queue(name(format!("q{n}"))), 1);
    }
    // One step of many that close the minute and the hour.
    world.mono += 1_000;
    let now = rota_engine::Now {
        wall: rota_model::Millis(world.wall().0 + 1_000),
        mono: world.mono,
        ahead_ms: 0,
    };
    world.apply(Command::Tick(now));
    let written = enqueued(&world, MINUTE).0;
    assert!(written > 0 && written < 1_000, "{written}");
    world.crash(0);
    assert_eq!(enqueued(&world, MINUTE), (1_000, 1_000));
    assert_eq!(enqueued(&world, HOUR), (1_000, 1_000));
}

#[test]
fn a_deleted_queue_leaves_nothing_to_the_next_of_its_name() {
    for journal_entries in [1, 100_000] {
        let mut world = World::with(Config { journal_entries, ..Config::default() });
        world.enqueue(&job("a").queue("q"), 3);
        for claimed in world.fetch_with(&["q"], 3, |_| {}) {
            world.ack(claimed.seq);
        }
        let deleted = world.apply(Command::DeleteQueue(QueueName::parse("q").unwrap()));
        assert!(matches!(deleted, Reply::Queue(_)), "{deleted:?}");
        world.enqueue(&job("a").queue("q"), 2);
        world.fetch_with(&["q"], 1, |_| {});
        let before = minutes(&world, "q");
        assert_eq!((before[0].enqueued, before[0].completed, before[1].enqueued), (2, 0, 5));
        let shares = |world: &World| world.engine.queue_shares_after("", 9)[0].dispatched;
        assert_eq!(shares(&world), 1);
        world.crash(0);
        assert_eq!((minutes(&world, "q"), shares(&world)), (before, 1));
    }
}
