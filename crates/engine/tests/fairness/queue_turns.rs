//! No queue with something to start is passed over for ever, in either scope.

use std::collections::BTreeMap;

use crate::world::{World, concurrency, job, pool};
use rota_engine::{Command, Config, Fetch, Preference, QueueSettings};
use rota_model::{FairnessScope, QueueName, QueueStrategy, Seq, TenantId, Weight};
use serde_json::json;

fn in_pool_scope() -> World {
    let mut config = Config::default();
    config.fairness.scope = FairnessScope::Pool;
    World::with(config)
}

fn round_robin(fetch: &mut Fetch) {
    prefer(fetch, QueueStrategy::RoundRobin);
}

fn prefer(fetch: &mut Fetch, strategy: QueueStrategy) {
    fetch.preference = Some(Preference { strategy, weights: BTreeMap::new() });
}

fn of(all: &[(String, String)], tenant: &str, queue: &str) -> usize {
    all.iter().filter(|(who, whence)| who == tenant && whence == queue).count()
}

fn from(all: &[(String, String)], queue: &str) -> usize {
    all.iter().filter(|(_, whence)| whence == queue).count()
}

#[test]
fn each_tenant_goes_around_its_own_queues() {
    let mut world = in_pool_scope();
    for tenant in ["a", "b"] {
        world.enqueue(&job(tenant).queue("q"), 60);
        world.enqueue(&job(tenant).queue("r"), 60);
    }
    world.put_pool("p", json!({"queues": ["q", "r"]}));
    let by_name: Vec<_> = (0..80).map(|_| world.next(&["q", "r"], round_robin).unwrap()).collect();
    let in_pool = |world: &mut World| world.next(&[], |fetch| fetch.pool = pool("p")).unwrap();
    let in_pool: Vec<_> = (0..80).map(|_| in_pool(&mut world)).collect();
    for all in [by_name, in_pool] {
        for (tenant, queue) in [("a", "q"), ("a", "r"), ("b", "q"), ("b", "r")] {
            assert_eq!(of(&all, tenant, queue), 20, "{tenant} in {queue}");
        }
    }
}

#[test]
fn weights_of_queues_divide_what_one_tenant_gets() {
    let mut world = in_pool_scope();
    world.enqueue(&job("a").queue("z0"), 200);
    world.enqueue(&job("a").queue("z1"), 200);
    world.enqueue(&job("b").queue("z2"), 200);
    let weights = [("z0", 1.0), ("z1", 9.0), ("z2", 1.0)];
    let weights = weights
        .map(|(queue, weight)| (QueueName::parse(queue).unwrap(), Weight::new(weight).unwrap()));
    let preference =
        Preference { strategy: QueueStrategy::Weighted, weights: weights.into_iter().collect() };
    let queues = world.by_strategy(&["z0", "z1", "z2"], Some(preference), 200);
    let got = ["z0", "z1", "z2"].map(|queue| queues.iter().filter(|q| *q == queue).count());
    assert_eq!(got, [10, 90, 100]);
}

#[test]
fn ten_queues_of_two_tenants_are_all_served() {
    let mut world = in_pool_scope();
    let queues = ["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9"];
    for queue in queues {
        world.enqueue(&job("a").queue(queue), 20);
    }
    world.enqueue(&job("b").queue("x0"), 120);
    let all: Vec<_> = (0..200).map(|_| world.next(&queues, round_robin).unwrap()).collect();
    for queue in queues {
        assert_eq!(of(&all, "a", queue), 10, "{queue}");
    }
}

#[test]
fn a_queue_that_some_fetches_leave_out_is_ahead_in_the_others() {
    for scope in ["queue", "pool"] {
        let mut world = World::new();
        world.enqueue(&job("t").queue("def"), 120);
        world.enqueue(&job("t").queue("ana"), 120);
        world.put_pool("p", json!({"queues": ["def", "ana"], "fairness_scope": scope}));
        let mut all = Vec::new();
        for _ in 0..50 {
            all.push(world.next(&["def"], |fetch| fetch.pool = pool("p")).unwrap());
            all.push(world.next(&[], |fetch| fetch.pool = pool("p")).unwrap());
        }
        assert!(from(&all, "ana") >= 49, "{scope}: {}", from(&all, "ana"));
    }
}

#[test]
fn a_queue_that_joins_does_not_wait_until_another_has_caught_up() {
    for scope in ["queue", "pool"] {
        let mut world = World::new();
        world.enqueue(&job("t").queue("q"), 600);
        world.enqueue(&job("t").queue("r"), 600);
        world.enqueue(&job("t").queue("s"), 1);
        world.put_pool("p", json!({"queues": ["q", "r", "s"], "fairness_scope": scope}));
        (0..3).for_each(|_| assert!(world.next(&[], |fetch| fetch.pool = pool("p")).is_some()));
        (0..300).for_each(|_| {
            world.next(&["q"], |fetch| fetch.pool = pool("p")).unwrap();
        });
        world.enqueue(&job("t").queue("s"), 50);
        let next = |world: &mut World| world.next(&[], |fetch| fetch.pool = pool("p")).unwrap();
        let all: Vec<_> = (0..60).map(|_| next(&mut world)).collect();
        assert!(from(&all[..20], "s") >= 1, "{scope}: {all:?}");
        assert!(from(&all, "q") >= 8, "{scope}: {all:?}");
        assert!(from(&all[..20], "r") >= 10, "{scope}: r was left out, and is ahead");
    }
}

#[test]
fn a_queue_saves_nothing_while_it_has_nothing_to_start() {
    for scope in ["queue", "pool"] {
        let mut world = World::new();
        world.enqueue(&job("t").queue("q"), 100);
        world.enqueue(&job("t").queue("r"), 1);
        world.put_pool("p", json!({"queues": ["q", "r"], "fairness_scope": scope}));
        for some in [&[][..], &["q", "r"][..]] {
            let next =
                |world: &mut World| world.next(some, |fetch| fetch.pool = pool("p")).unwrap();
            (0..20).for_each(|_| {
                next(&mut world);
            });
            world.enqueue(&job("t").queue("r"), 50);
            let all: Vec<_> = (0..10).map(|_| next(&mut world)).collect();
            assert!((4..=6).contains(&from(&all, "r")), "{scope}: {all:?}");
            drain(&mut world, "r");
        }
    }
}

#[test]
fn round_robin_passes_over_a_paused_queue_and_goes_on_when_it_is_resumed() {
    for (scope, named) in [("queue", true), ("queue", false), ("pool", true), ("pool", false)] {
        let mut world = if scope == "pool" { in_pool_scope() } else { World::new() };
        for queue in ["a", "b", "c"] {
            world.enqueue(&job("t").queue(queue), 100);
        }
        world.put_pool("p", json!({"queues": ["a", "b", "c"]}));
        let serve = |world: &mut World, count: usize| {
            let queues: &[&str] = if named { &["a", "b", "c"] } else { &[] };
            let next = |_| {
                let next = world.next(queues, |fetch| match named {
                    true => round_robin(fetch),
                    false => fetch.pool = pool("p"),
                });
                next.unwrap().1
            };
            (0..count).map(next).collect::<Vec<_>>()
        };
        let has = |some: &[String], queue: &str| some.iter().any(|other| other == queue);
        let assert_in_turn = |served: &[String]| {
            let in_turn = |three: &[String]| ["a", "b", "c"].iter().all(|queue| has(three, queue));
            assert!(served.windows(3).all(in_turn), "{scope}: {served:?}");
        };
        assert_in_turn(&serve(&mut world, 7));
        let paused = QueueName::parse("b").unwrap();
        world.apply(Command::PauseQueue(paused.clone()));
        let served = serve(&mut world, 40);
        assert!(served.windows(2).all(|two| two[0] != two[1]), "{scope}: {served:?}");
        assert!(!has(&served, "b"), "{scope}: {served:?}");
        world.apply(Command::ResumeQueue(paused));
        assert_in_turn(&serve(&mut world, 40));
    }
}

/// What keeps all jobs of a queue from starting.
#[derive(Debug, Clone, Copy)]
enum Closed {
    Paused,
    AtCap,
    AtLimit,
}

impl Closed {
    /// Closes queue `r`, which has no active jobs. Returns the jobs that occupy its slots.
    fn close(self, world: &mut World) -> Vec<Seq> {
        match self {
            Closed::Paused => {
                world.apply(Command::PauseQueue(QueueName::parse("r").unwrap()));
            }
            Closed::AtCap => {
                let settings = QueueSettings { concurrency: Some(30), ..Default::default() };
                let queue = QueueName::parse("r").unwrap();
                world.apply(Command::ConfigureQueue(queue, settings));
            }
            Closed::AtLimit => world.say("queue:r", json!({"concurrency": 30}), None),
        }
        world.fetch_with(&["r"], 30, |_| {}).iter().map(|claimed| claimed.seq).collect()
    }

    /// Lets jobs start from queue `r` again.
    fn open(self, world: &mut World, active: Vec<Seq>) {
        active.into_iter().for_each(|seq| world.ack(seq));
        if let Closed::Paused = self {
            world.apply(Command::ResumeQueue(QueueName::parse("r").unwrap()));
        }
    }
}

/// In either scope, queue `r` is closed while `q` is served, and opened again: its tenants alternate
/// between their queues as before.
fn check_saves_nothing(closed: Closed) {
    for (scope, named) in [("queue", true), ("queue", false), ("pool", true), ("pool", false)] {
        let mut world = World::new();
        for queue in ["q", "r"] {
            world.enqueue(&job("t").queue(queue), 200);
            world.enqueue(&job("u").queue(queue), 200);
        }
        world.put_pool("p", json!({"queues": ["q", "r"], "fairness_scope": scope}));
        let serve = |world: &mut World, count: usize| {
            let queues: &[&str] = if named { &["r", "q"] } else { &[] };
            let next = |_| world.next(queues, |fetch| fetch.pool = pool("p")).unwrap();
            (0..count).map(next).collect::<Vec<_>>()
        };
        let case = format!("{closed:?}, {scope}, named: {named}");
        serve(&mut world, 6);
        let active = closed.close(&mut world);
        let served = serve(&mut world, 80);
        assert_eq!((of(&served, "t", "q"), of(&served, "u", "q")), (40, 40), "{case}");
        closed.open(&mut world, active);
        let served = serve(&mut world, 40);
        assert!(served.chunks(4).all(|four| from(four, "r") == 2), "{case}: {served:?}");
    }
}

#[test]
fn a_queue_saves_nothing_while_it_is_paused() {
    check_saves_nothing(Closed::Paused);
}

#[test]
fn a_queue_saves_nothing_while_it_is_at_its_cap() {
    check_saves_nothing(Closed::AtCap);
}

#[test]
fn a_queue_saves_nothing_while_it_is_at_its_limit() {
    check_saves_nothing(Closed::AtLimit);
}

#[test]
fn least_loaded_takes_from_the_deepest_queue_and_keeps_two_level() {
    for named in [true, false] {
        let mut world = World::new();
        let mut depth = BTreeMap::from([("a", 2), ("b", 9), ("c", 4)]);
        for (queue, depth) in &depth {
            world.enqueue(&job("t").queue(queue), *depth);
        }
        world.put_pool("p", json!({"queues": ["a", "b", "c"], "strategy": "least-loaded"}));
        let queues: &[&str] = if named { &["a", "b", "c"] } else { &[] };
        for n in 0..40 {
            let deepest = *depth.values().max().unwrap();
            let (_, queue) = world
                .next(queues, |fetch| match named {
                    true => prefer(fetch, QueueStrategy::LeastLoaded),
                    false => fetch.pool = pool("p"),
                })
                .unwrap();
            assert_eq!(depth[&*queue], deepest, "{n}: {queue} of {depth:?}");
            *depth.get_mut(&*queue).unwrap() -= 1;
            if n >= 5 {
                // The two deep ones are level from here on, whichever of them jobs come to.
                assert!(depth["b"].abs_diff(depth["c"]) <= 1, "{n}: {depth:?}");
                let queue = if n % 3 == 0 { "b" } else { "c" };
                world.enqueue(&job("t").queue(queue), 1);
                *depth.get_mut(queue).unwrap() += 1;
            }
        }
    }
}

#[test]
fn queues_whose_jobs_share_a_key_with_others_are_all_served() {
    let mut world = World::new();
    let queues = ["x0", "x1", "x2", "x3"];
    for queue in queues {
        world.enqueue(&job("many").queue(queue).limit(concurrency("k", 1)), 100);
    }
    world.enqueue(&job("one").queue("x3").limit(concurrency("k", 1)), 100);
    let all: Vec<_> = (0..160).map(|_| world.next(&queues, round_robin).unwrap()).collect();
    for queue in ["x0", "x1", "x2"] {
        assert!(of(&all, "many", queue) >= 20, "{queue}: {}", of(&all, "many", queue));
    }
    assert_eq!(all.iter().filter(|(tenant, _)| tenant == "one").count(), 80);
}

#[test]
fn own_workers_do_not_turn_the_rotation_of_shared_ones() {
    for charge in [false, true] {
        let mut config = Config::default();
        config.fairness.charge_own_workers = charge;
        let mut world = World::with(config);
        world.enqueue(&job("a").queue("q"), 300);
        world.enqueue(&job("b").queue("q"), 300);
        world.enqueue(&job("b").queue("r"), 300);
        world.put_pool("p", json!({"queues": ["q", "r"]}));
        let own = TenantId::parse("a").unwrap();
        for named in [false, true] {
            let queues: &[&str] = if named { &["q", "r"] } else { &[] };
            let in_pool = pool("p").filter(|_| !named);
            let mut all = Vec::new();
            for _ in 0..40 {
                let next = world.next(queues, |fetch| {
                    round_robin(fetch);
                    (fetch.tenant, fetch.pool) = (Some(own.clone()), in_pool.clone());
                });
                assert_eq!(next.unwrap().0, "a");
                let next = world.next(queues, |fetch| {
                    round_robin(fetch);
                    fetch.pool = in_pool.clone();
                });
                all.push(next.unwrap());
            }
            assert_eq!((from(&all, "q"), from(&all, "r")), (20, 20), "charged: {charge}");
            assert!(of(&all, "b", "q") >= 10, "charged: {charge}");
        }
    }
}

#[test]
fn own_workers_of_each_tenant_go_around_its_queues() {
    let mut world = World::new();
    for tenant in ["a", "b"] {
        world.enqueue(&job(tenant).queue("q"), 60);
        world.enqueue(&job(tenant).queue("r"), 60);
    }
    world.put_pool("p", json!({"queues": ["q", "r"]}));
    for named in [false, true] {
        let queues: &[&str] = if named { &["q", "r"] } else { &[] };
        let mut all = Vec::new();
        for n in 0..40 {
            let own = TenantId::parse(["a", "b"][n % 2]).unwrap();
            let next = world.next(queues, |fetch| {
                round_robin(fetch);
                (fetch.tenant, fetch.pool) = (Some(own), pool("p").filter(|_| !named));
            });
            all.push(next.unwrap());
        }
        for (tenant, queue) in [("a", "q"), ("a", "r"), ("b", "q"), ("b", "r")] {
            assert_eq!(of(&all, tenant, queue), 10, "{tenant} in {queue}");
        }
    }
}

/// Takes all jobs of a queue, by fetches that name only that.
fn drain(world: &mut World, queue: &str) {
    while world.next(&[queue], |_| {}).is_some() {}
}
