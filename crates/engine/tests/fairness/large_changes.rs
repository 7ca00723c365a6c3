//! Changes that mean very many lanes cost the same as others, and count from the next job on.

use crate::world::{Job, World, concurrency, job, name};
use rota_engine::{Command, Reply};
use rota_model::{LimitKey, QueueName, TenantId};
use serde_json::{Value, json};

/// Classes of one tenant, many more than follow a change at once.
const CLASSES: usize = 3_000;
/// The most steps that a change or a decision may cost.
const FEW: u64 = 100;
/// The most steps that a tick may cost.
const SLICE: u64 = 2_000;
/// The most steps that a command may cost while turns are kept up in slices.
const UPKEEP: u64 = 400;

fn steps_of<T>(world: &mut World, one: impl FnOnce(&mut World) -> T) -> (T, u64) {
    let before = world.engine.scheduler_steps();
    let result = one(world);
    (result, world.engine.scheduler_steps() - before)
}

fn enqueue_all(world: &mut World, jobs: &[Job]) {
    for some in jobs.chunks(1_000) {
        let reply = world.try_enqueue(some, 0);
        assert!(matches!(reply, Reply::Enqueued(_)), "{reply:?}");
    }
}

/// Tenant `b` has a job of each class; `a` had some before, of one class.
fn crowd(change: impl Fn(Job, usize) -> Job) -> World {
    let mut world = World::new();
    world.enqueue(&job("a"), 100);
    let kinds = (0..CLASSES).map(|n| change(job("b").kind(name(format!("k{n}"))), n));
    enqueue_all(&mut world, &kinds.collect::<Vec<_>>());
    world
}

#[track_caller]
fn change(world: &mut World, config: Value) {
    let ((), steps) = steps_of(world, |world| world.tenant("b", config));
    assert!(steps <= FEW, "the change took {steps} steps");
}

/// The tenants of the next jobs, each decided at little cost.
#[track_caller]
fn served(world: &mut World, count: usize) -> Vec<String> {
    let next = |_| {
        let (mut tenants, steps) = steps_of(world, |world| world.served(1));
        assert!(steps <= FEW, "a start took {steps} steps");
        tenants.remove(0)
    };
    (0..count).map(next).collect()
}

/// Lets what is left follow, a slice at a time.
#[track_caller]
fn settle(world: &mut World) {
    let mut ticks = 0;
    while world.engine.wake_in_ms() == Some(0) {
        let now = world.engine.now();
        let (_, steps) = steps_of(world, |world| world.apply(Command::Tick(now)));
        assert!(steps <= SLICE, "a tick took {steps} steps");
        ticks += 1;
    }
    assert!(ticks > CLASSES / 300, "{ticks} ticks");
}

#[test]
fn a_boost_counts_from_the_next_job_on() {
    let mut world = crowd(|job, _| job);
    change(&mut world, json!({"priority_boost": 5}));
    assert_eq!(served(&mut world, 4), ["b"; 4]);
    change(&mut world, json!({"priority_boost": -5}));
    assert_eq!(served(&mut world, 4), ["a"; 4]);
    change(&mut world, json!({"priority_boost": 5}));
    settle(&mut world);
    assert_eq!(world.served(4), ["b"; 4]);
}

#[test]
fn so_it_does_for_jobs_with_keys() {
    let mut world = crowd(|job, n| job.limit(concurrency(name(format!("key{n}")), 1)));
    change(&mut world, json!({"priority_boost": 5}));
    assert_eq!(world.served(4), ["b"; 4]);
    change(&mut world, json!({"priority_boost": -5}));
    assert_eq!(world.served(4), ["a"; 4]);
    change(&mut world, json!({"priority_boost": 5}));
    assert_eq!(world.served(4), ["b"; 4]);
    settle(&mut world);
    assert_eq!(world.served(CLASSES)[..CLASSES - 8], vec!["b"; CLASSES - 8]);
}

#[test]
fn pauses_of_a_tenant_with_many_keys_begin_and_end_in_slices() {
    let mut world = crowd(|job, n| job.limit(concurrency(name(format!("key{n}")), 1)));
    let (tenant, queue) = (TenantId::parse("b").unwrap(), QueueName::default_queue());
    for _ in 0..2 {
        let pause = Command::PauseShard(tenant.clone(), queue.clone());
        let (_, steps) = steps_of(&mut world, |world| world.apply(pause));
        assert!(steps <= UPKEEP, "the pause took {steps} steps");
        settle(&mut world);
        assert_eq!(served(&mut world, 2), ["a"; 2]);
        let resume = Command::ResumeShard(tenant.clone(), queue.clone());
        let (_, steps) = steps_of(&mut world, |world| world.apply(resume));
        assert!(steps <= UPKEEP, "the end of the pause took {steps} steps");
        assert!(world.served(2).contains(&"b".to_owned()));
        settle(&mut world);
    }
    let rest = world.served(CLASSES + 100);
    assert_eq!(rest.iter().filter(|tenant| *tenant == "b").count(), CLASSES - 2);
}

#[test]
fn a_tenant_at_its_cap_with_many_keys_costs_little() {
    let mut world = crowd(|job, n| job.limit(concurrency(name(format!("key{n}")), 1)));
    world.tenant("b", json!({"max_concurrency": 1}));
    while world.engine.wake_in_ms() == Some(0) {
        world.apply(Command::Tick(world.engine.now()));
    }
    let mut own = 0;
    for _ in 0..60 {
        let (tenants, steps) = steps_of(&mut world, |world| world.served(1));
        assert!(steps <= 2 * UPKEEP, "a start and its end took {steps} steps");
        own += usize::from(tenants == ["b"]);
    }
    assert!((28..=32).contains(&own), "{own} of 60");
}

#[test]
fn a_boost_keeps_the_order_of_a_tenants_jobs() {
    let mut world = crowd(|job, n| job.priority((n % 7) as i16));
    change(&mut world, json!({"priority_boost": 20}));
    // Those of priority 6 first, the oldest of them before the others; and so on.
    let by_priority = (0..7).rev().flat_map(|rest| (0..CLASSES).filter(move |n| n % 7 == rest));
    for n in by_priority.take(600) {
        let claimed = world.fetch(1).remove(0);
        assert_eq!(claimed.seq.0, 101 + n as u64);
        world.ack(claimed.seq);
    }
}

#[test]
fn the_highest_priority_counts_from_the_next_job_on() {
    let mut world = crowd(|job, _| job.priority(9));
    assert_eq!(served(&mut world, 2), ["b"; 2]);
    change(&mut world, json!({"max_priority": -1}));
    assert_eq!(served(&mut world, 4), ["a"; 4]);
    change(&mut world, json!({}));
    assert_eq!(served(&mut world, 4), ["b"; 4]);
}

#[test]
fn a_cap_counts_from_the_next_job_on() {
    let mut world = crowd(|job, _| job);
    let first = world.fetch(6);
    change(&mut world, json!({"max_concurrency": 1}));
    assert_eq!(served(&mut world, 4), ["a"; 4]);
    change(&mut world, json!({"max_concurrency": 10}));
    assert!(served(&mut world, 4).contains(&"b".to_owned()));
    assert_eq!(first.len(), 6);
}

#[test]
fn a_weight_counts_from_the_next_job_on() {
    let mut world = crowd(|job, _| job);
    world.tenant("b", json!({"fairness_weight": 0.01}));
    settle(&mut world);
    assert!(world.served(12).iter().filter(|tenant| *tenant == "b").count() <= 1);
    change(&mut world, json!({"fairness_weight": 3}));
    let tenants = served(&mut world, 12);
    let own = tenants.iter().filter(|tenant| *tenant == "b").count();
    assert!((8..=10).contains(&own), "{tenants:?}");
}

#[test]
fn a_crash_between_two_slices_loses_nothing() {
    let mut world = crowd(|job, _| job);
    change(&mut world, json!({"priority_boost": 5, "max_concurrency": 7}));
    world.apply(Command::Tick(world.engine.now()));
    assert_eq!(world.engine.wake_in_ms(), Some(0), "not all have followed");
    world.crash(1_000);
    assert_eq!(world.fetch(20).iter().filter(|job| world.owner(job.seq) == "b").count(), 7);
}

/// Jobs of one type in very many classes.
fn one_type() -> World {
    let mut world = World::new();
    let of = |n: usize| {
        let tenant = name(format!("t{}", n % 10));
        job(tenant).kind("x").limit(concurrency(name(format!("key{n}")), 1))
    };
    enqueue_all(&mut world, &(0..CLASSES).map(of).collect::<Vec<_>>());
    enqueue_all(&mut world, &vec![job("free").kind("x"); 10]);
    world.enqueue(&job("other"), 100);
    world
}

#[test]
fn a_limit_on_a_type_counts_from_the_next_job_on() {
    let mut world = one_type();
    let first = world.fetch(5);
    let of_type = first.iter().filter(|job| world.owner(job.seq) != "other").count() as u32;
    let say = |world: &mut World, numbers: Value| {
        let ((), steps) = steps_of(world, |world| world.say("type:x", numbers, None));
        assert!(steps <= FEW, "the limit took {steps} steps");
    };
    say(&mut world, json!({"concurrency": of_type + 2}));
    let key = LimitKey::parse("type:x").unwrap();
    let shown = world.engine.limit(&key, None).unwrap();
    assert_eq!(shown.active, u64::from(of_type), "those that were active before count");
    let more = world.fetch(50);
    let more = more.iter().filter(|job| world.owner(job.seq) != "other").count();
    assert_eq!(more, 2);
    let shown = world.engine.limit(&key, None).unwrap();
    assert_eq!(shown.waiting, (CLASSES + 10 - 2) as u64 - u64::from(of_type), "{shown:?}");
}

#[test]
fn a_limit_that_is_lifted_from_a_type_holds_nobody() {
    let mut world = one_type();
    world.say("type:x", json!({"concurrency": 0}), None);
    assert_eq!(world.fetch(200).len(), 100, "only the others");
    let key = LimitKey::parse("type:x").unwrap();
    let reply = world.apply(Command::ClearLimit(key.clone(), None));
    assert!(matches!(reply, Reply::Limit(_)), "{reply:?}");
    assert_eq!(world.fetch(CLASSES + 100).len(), CLASSES + 10);
    world.pass(120_000);
    assert!(world.engine.limit(&key, None).is_none(), "nobody uses it");
}
