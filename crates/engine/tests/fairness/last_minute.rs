//! Figures of the last minute: right to within five seconds, and the same before and after a restart.

use rota_engine::{Command, Config, Engine, Refusal, Reply, Undelivered};
use rota_model::{PoolName, QueueName, TenantId};
use serde_json::json;

use crate::world::{World, job, pool};

/// Starts that are counted as of the last minute: by tenant, queue, pool, label, and over all.
fn starts(engine: &Engine) -> [u64; 5] {
    let share = engine.share("a").unwrap();
    let queue = engine
        .queue_shares_after("", usize::MAX)
        .into_iter()
        .find(|queue| &*queue.name == "default")
        .unwrap();
    let pool = engine.pool(None, &PoolName::parse("p").unwrap()).unwrap();
    assert_eq!(i64::from(engine.tenant("a").unwrap().minute.started), i64::from(share.dispatched));
    let all = engine.dispatched_1m();
    let label = engine.labels(0, 9).into_iter().find(|label| label.tenant.as_deref() == Some("a"));
    let labelled = (label.unwrap().share * all as f64).round() as u64;
    [u64::from(share.dispatched), queue.dispatched, pool.dispatched_1m, labelled, all]
}

fn start_in_pool(world: &mut World, count: usize) {
    for _ in 0..count {
        let claimed = world.fetch_with(&["default"], 1, |fetch| fetch.pool = pool("p")).remove(0);
        world.ack(claimed.seq);
    }
}

fn world() -> World {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["default"]}));
    world.enqueue(&job("a"), 500);
    world
}

#[test]
fn the_last_minute_is_sixty_seconds_everywhere() {
    let mut world = world();
    start_in_pool(&mut world, 60);
    assert_eq!(starts(&world.engine), [60; 5]);
    world.pass(55_000);
    assert_eq!(starts(&world.engine), [60; 5]);
    world.pass(5_000);
    assert_eq!(starts(&world.engine), [60; 5]);
    world.pass(5_000);
    assert_eq!(starts(&world.engine), [0; 5]);
}

#[test]
fn figures_agree_with_each_other_and_with_what_happened_after_a_crash() {
    // Written out after nearly every batch, or never.
    for journal_entries in [1, 100_000] {
        let mut world = World::with(Config { journal_entries, ..Config::default() });
        world.put_pool("p", json!({"queues": ["default"]}));
        world.enqueue(&job("a"), 500);
        let mut times = Vec::new();
        for step in 0..60u64 {
            world.pass(step * 631 % 4_000);
            start_in_pool(&mut world, 2);
            times.extend([world.wall().0; 2]);
            let before = starts(&world.engine);
            if step % 7 == 0 {
                world.crash(0);
                assert_eq!(starts(&world.engine), before);
            }
            let now = world.wall().0;
            let within = |ms| times.iter().filter(|at| **at > now - ms).count() as u64;
            let [own, rest @ ..] = starts(&world.engine);
            assert_eq!(rest, [own; 4]);
            assert!((within(60_000)..=within(65_000)).contains(&own), "{own} at step {step}");
        }
        world.crash(70_000);
        assert_eq!(starts(&world.engine), [0; 5]);
    }
}

#[test]
fn how_long_jobs_waited_in_the_last_minute_survives_a_crash() {
    let mut world = world();
    world.pass(2_000);
    start_in_pool(&mut world, 3);
    world.crash(100);
    assert_eq!(world.engine.queue_shares_after("", usize::MAX)[0].avg_wait_ms, Some(2_000.0));
    world.pass(65_000);
    assert_eq!(world.engine.queue_shares_after("", usize::MAX)[0].avg_wait_ms, None);
}

#[test]
fn retry_after_follows_what_was_started_lately() {
    let mut world = world();
    world.tenant("a", json!({"max_queue_depth": 440}));
    let wait = |world: &mut World| match world.try_enqueue(&[job("a")], 0) {
        Reply::Refused(Refusal::TenantLimit { retry_ms, .. }) => retry_ms.unwrap(),
        other => panic!("{other:?}"),
    };
    start_in_pool(&mut world, 60);
    world.tenant("a", json!({"max_queue_depth": 411}));
    world.pass(10_000);
    // 60 in ten seconds, and 30 have to go.
    assert_eq!(wait(&mut world), 5_000);
    world.pass(35_000);
    assert_eq!(wait(&mut world), 30_000, "60 in the last minute, none of them lately");
    world.pass(20_000);
    assert_eq!(wait(&mut world), 5_000, "nothing was started in the last minute");
}

#[test]
fn a_full_queue_says_when_to_try_again_by_what_was_started_lately() {
    let mut world = World::new();
    let bounds = rota_engine::Bounds {
        max_depth: 100,
        max_bytes: 0,
        tenant_max_depth: 0,
        tenant_max_bytes: 0,
        strategy: rota_engine::Backpressure::Reject,
        warn_at: 800,
    };
    let settings = rota_engine::QueueSettings { bounds: Some(bounds), ..Default::default() };
    let name = QueueName::default_queue();
    world.apply(Command::ConfigureQueue(name, settings));
    world.enqueue(&job("a"), 100);
    world.served(30);
    world.enqueue(&job("a"), 30);
    let wait = |world: &mut World| match world.try_enqueue(&[job("a")], 0) {
        Reply::Refused(Refusal::QueueFull { retry_ms, .. }) => retry_ms.unwrap(),
        other => panic!("{other:?}"),
    };
    world.pass(10_000);
    assert_eq!(wait(&mut world), 1_000, "three in a second, and at least a second");
    world.pass(50_000);
    assert_eq!(wait(&mut world), 5_000, "nothing was started lately");
    world.pass(5_000);
    assert_eq!(wait(&mut world), 5_000, "nothing is known");
}

#[test]
fn claims_that_nobody_received_do_not_count_as_started() {
    for scope in ["queue", "pool"] {
        let mut world = world();
        world.put_pool("p", json!({"queues": ["default", "other"], "fairness_scope": scope}));
        world.enqueue(&job("a"), 9);
        start_in_pool(&mut world, 2);
        let of_pool = |fetch: &mut rota_engine::Fetch| fetch.pool = pool("p");
        let claimed = world.fetch_with(&["default"], 3, of_pool);
        assert_eq!(starts(&world.engine), [5; 5]);
        world.pass(7_000);
        let lost = claimed[1..].iter().map(|one| (one.seq, one.attempt)).collect();
        world.apply(Command::Undelivered(Undelivered { claims: lost, partly_sent: false }));
        for restart in [false, true] {
            if restart {
                world.crash(10);
            }
            assert_eq!(starts(&world.engine), [3; 5], "after a restart: {restart}");
            let usage = world.engine.unwritten_usage(&TenantId::parse("a").unwrap()).unwrap();
            let (started, run_ms) = (usage.hours[0].1.started, usage.hours[0].1.run_ms);
            assert_eq!((started, run_ms), (3, 0), "nobody worked for 7 seconds");
            assert_eq!(world.engine.share("a").unwrap().entitled, 1.0);
        }
    }
}
