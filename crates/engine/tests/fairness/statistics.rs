//! Minutes and hours of queues: written down completely, and in bounded steps.

use rota_engine::Config;

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
