//! What a start costs does not depend on how much waits, in steps of the scheduler.

use crate::world::{Job, World, cap_queues, concurrency, job, name, pool};
use rota_engine::{Command, Config, Fetch, QueueSettings, Reply, WaiterId};
use rota_model::{FairnessScope, QueueName, TenantId};
use serde_json::json;

/// Starts over which the cost is averaged, after as many that are not counted.
pub const STARTS: usize = 100;

/// One tenant may have as many queues as the load needs.
fn large_world() -> World {
    World::with(Config { caps: cap_queues(100_000), ..Config::default() })
}

/// Steps of one run of this on average.
pub fn average(world: &mut World, mut one: impl FnMut(&mut World)) -> f64 {
    (0..STARTS).for_each(|_| one(world));
    let before = world.engine.scheduler_steps();
    (0..STARTS).for_each(|_| one(world));
    (world.engine.scheduler_steps() - before) as f64 / STARTS as f64
}

pub fn steps_of(world: &mut World, one: impl FnOnce(&mut World)) -> f64 {
    let before = world.engine.scheduler_steps();
    one(world);
    (world.engine.scheduler_steps() - before) as f64
}

/// One job is started and finished.
fn start_one(queues: &[&str]) -> impl Fn(&mut World) {
    move |world| {
        world.next(queues, |_| {}).expect("there is a job");
    }
}

#[track_caller]
pub fn assert_flat(what: &str, few: f64, many: f64) {
    println!("{what}: {few} with few, {many} with many");
    assert!(many <= 3.0 * few + 20.0, "{what}: {few} with few, {many} with many");
}

pub fn enqueue_all(world: &mut World, jobs: &[Job]) {
    for some in jobs.chunks(1_000) {
        let reply = world.try_enqueue(some, 0);
        assert!(matches!(reply, Reply::Enqueued(_)), "{reply:?}");
    }
}

#[test]
fn types_that_share_a_key() {
    let load = |types: usize| {
        let mut world = large_world();
        let of = |n: usize| job("t").kind(name(format!("t{n}"))).limit(concurrency("k", 1));
        let kinds: Vec<Job> = (0..types).map(of).collect();
        let rounds = (3 * STARTS).div_ceil(types);
        (0..rounds).for_each(|_| enqueue_all(&mut world, &kinds));
        average(&mut world, start_one(&["default"]))
    };
    assert_flat("types at one key", load(10), load(10_000));
}

#[test]
fn types_that_wait_for_a_second_limit() {
    let load = |types: usize, said_first: bool| {
        let mut world = large_world();
        let kinds: Vec<&str> = (0..types).map(|n| name(format!("t{n}"))).collect();
        let close = |world: &mut World| {
            for kind in &kinds {
                world.say(&format!("type:{kind}"), json!({"concurrency": 0}), None);
            }
        };
        if said_first {
            close(&mut world);
        }
        let of = |kind: &&'static str| job("t").kind(kind).limit(concurrency("k", 1_000));
        enqueue_all(&mut world, &kinds.iter().map(of).collect::<Vec<_>>());
        if !said_first {
            close(&mut world);
        }
        world.enqueue(&job("t").kind("free").limit(concurrency("k", 1_000)), 3 * STARTS);
        average(&mut world, start_one(&["default"]))
    };
    for first in [true, false] {
        assert_flat("types behind a second limit", load(10, first), load(3_000, first));
    }
}

#[test]
fn types_that_wait_for_a_slot_of_their_own() {
    let load = |types: usize| {
        let mut world = large_world();
        let kinds: Vec<&str> = (0..types).map(|n| name(format!("t{n}"))).collect();
        for kind in &kinds {
            world.say(&format!("type:{kind}"), json!({"concurrency": 1}), None);
        }
        let of = |kind: &&'static str| job("t").kind(kind).limit(concurrency("k", 100_000));
        let jobs: Vec<Job> = kinds.iter().map(of).collect();
        enqueue_all(&mut world, &jobs);
        enqueue_all(&mut world, &jobs);
        assert_eq!(world.fetch(2 * types).len(), types, "one of each");
        world.enqueue(&job("t").kind("free").limit(concurrency("k", 100_000)), 3 * STARTS);
        average(&mut world, start_one(&["default"]))
    };
    assert_flat("types behind a slot of their own", load(10), load(9_000));
}

#[test]
fn a_batch_while_fetches_of_other_tenants_wait() {
    let load = |fetches: u64| {
        let mut world = large_world();
        for n in 0..fetches {
            let id = format!("other{n}");
            world.tenant(&id, json!({"fairness_weight": 2}));
            let own = Some(TenantId::parse(&id).unwrap());
            let wait = Some((WaiterId(n), 600_000));
            world.fetch_with(&["default"], 1, |fetch| (fetch.tenant, fetch.wait) = (own, wait));
        }
        let jobs = vec![job("t"); 1_000];
        let batch = steps_of(&mut world, |world| enqueue_all(world, &jobs)) / 1_000.0;
        (batch, average(&mut world, start_one(&["default"])))
    };
    let (none, many) = (load(0), load(1_000));
    assert_flat("a job of a batch", none.0, many.0);
    assert_flat("a start while others wait", none.1, many.1);
}

fn queues(count: usize) -> Vec<&'static str> {
    (0..count).map(|n| name(format!("q{n}"))).collect()
}

/// Jobs in each of these queues, enough for the starts that are measured.
fn fill(world: &mut World, queues: &[&'static str], limited: bool) {
    let of = |queue: &&'static str| {
        let job = job("t").queue(queue);
        if limited { job.limit(concurrency("k", 1)) } else { job }
    };
    let jobs: Vec<Job> = queues.iter().map(of).collect();
    let rounds = (3 * STARTS).div_ceil(queues.len());
    (0..rounds).for_each(|_| enqueue_all(world, &jobs));
}

#[test]
fn queues_that_wait_for_a_key_when_one_is_fetched() {
    let load = |count: usize| {
        let mut world = large_world();
        fill(&mut world, &queues(count), true);
        world.enqueue(&job("t").queue("q0").limit(concurrency("k", 1)), 3 * STARTS);
        average(&mut world, start_one(&["q0"]))
    };
    assert_flat("queues at one key", load(2), load(2_000));
}

#[test]
fn queues_that_wait_for_a_key_when_it_is_closed_meanwhile() {
    let load = |count: usize| {
        let mut world = large_world();
        world.enqueue(&job("t").queue("q0").limit(concurrency("k", 1)), 3 * STARTS);
        let mut running = world.fetch_with(&["q0"], 1, |_| {});
        fill(&mut world, &queues(count), true);
        average(&mut world, |world| {
            world.ack(running[0].seq);
            running = world.fetch_with(&["q0"], 1, |_| {});
            assert_eq!(running.len(), 1);
            assert!(world.fetch_with(&["q1"], 1, |_| {}).is_empty());
        })
    };
    assert_flat("queues at one key in use", load(2), load(2_000));
}

/// Queues wait for one key, each with jobs of one of so many tenants and a fetch that waits for it.
fn queues_with_fetches(count: usize, tenants: usize) -> f64 {
    let mut world = large_world();
    let queues = queues(count);
    let tenants: Vec<&str> = (0..tenants).map(|n| name(format!("tenant{n}"))).collect();
    let of = |(n, queue): (usize, &&'static str)| {
        job(tenants[n % tenants.len()]).queue(queue).limit(concurrency("k", 1))
    };
    let jobs: Vec<Job> = queues.iter().enumerate().map(of).collect();
    (0..(3 * STARTS).div_ceil(count)).for_each(|_| enqueue_all(&mut world, &jobs));
    let mut next = 0;
    let mut wait = |world: &mut World, queue: &str| {
        next += 1;
        world.fetch_with(&[queue], 1, |fetch| fetch.wait = Some((WaiterId(next), 600_000)))
    };
    let mut running = world.fetch_with(&["q0"], 1, |_| {})[0].seq;
    queues.iter().for_each(|queue| assert!(wait(&mut world, queue).is_empty()));
    average(&mut world, |world| {
        world.ack(running);
        let Some((_, Reply::Fetched(claimed))) = world.woken.pop() else { panic!() };
        running = claimed[0].seq;
        let queue = world.queue_of(running);
        wait(world, &queue);
    })
}

#[test]
fn queues_of_many_tenants_that_wait_for_a_key_with_a_fetch_for_each() {
    // Eight are woken for each start, of which one is served and the others sleep again.
    let (few, many) = (queues_with_fetches(9, 9), queues_with_fetches(2_000, 2_000));
    assert_flat("queues of many tenants", few, many);
}

#[test]
fn queues_of_one_tenant_that_wait_for_a_key_with_a_fetch_for_each() {
    let (few, many) = (queues_with_fetches(2, 1), queues_with_fetches(2_000, 1));
    assert_flat("queues of one tenant", few, many);
}

#[test]
fn periods_for_one_key() {
    let load = |periods: usize, strategy: &str| {
        let mut world = World::new();
        let of = |n: usize| {
            let rate = json!({"limit": 1_000_000, "period": format!("PT{}S", 6_000 + n)});
            job("t").limit(json!({"key": "k", strategy: rate}))
        };
        let jobs: Vec<Job> = (0..periods).map(of).collect();
        let rounds = (3 * STARTS).div_ceil(periods);
        (0..rounds).for_each(|_| enqueue_all(&mut world, &jobs));
        average(&mut world, |world| {
            start_one(&["default"])(world);
            world.pass(20);
        })
    };
    for strategy in ["rate", "throttle"] {
        assert_flat(strategy, load(2, strategy), load(3_000, strategy));
    }
}

#[test]
fn sets_of_numbers_for_one_key() {
    let load = |sets: usize, limit: u32, every_ms: u64| {
        let mut world = large_world();
        let of = |n: usize| {
            let rate = json!({"limit": limit, "period": "PT1S"});
            job("t").limit(json!({"key": "k", "concurrency": 1_000 + n, "rate": rate}))
        };
        let jobs: Vec<Job> = (0..sets).map(of).collect();
        let rounds = (3 * STARTS).div_ceil(sets);
        (0..rounds).for_each(|_| enqueue_all(&mut world, &jobs));
        average(&mut world, |world| {
            start_one(&["default"])(world);
            world.pass(every_ms);
        })
    };
    assert_flat("sets of numbers", load(2, 1_000_000, 1), load(1_000, 1_000_000, 1));
    assert_flat("sets of numbers at a rate", load(2, 1, 1_000), load(1_000, 1, 1_000));
}

#[test]
fn a_word_about_a_tenant_with_many_finished_classes() {
    let load = |types: usize| {
        let mut world = large_world();
        let kinds: Vec<Job> = (0..types).map(|n| job("t").kind(name(format!("t{n}")))).collect();
        enqueue_all(&mut world, &kinds);
        while world.next(&["default"], |_| {}).is_some() {}
        world.enqueue(&job("t"), 5);
        let mut weight = 1;
        average(&mut world, |world| {
            weight += 1;
            let word = json!({"fairness_weight": weight, "max_priority": weight % 10});
            world.tenant("t", word);
        })
    };
    assert_flat("a word about a tenant", load(10), load(10_000));
}

pub fn start_in_pool(world: &mut World) {
    let of_pool = |fetch: &mut Fetch| fetch.pool = pool("p");
    world.next(&[], of_pool).expect("there is a job");
}

fn in_pool(count: usize, strategy: &str, scope: FairnessScope) -> f64 {
    let mut config = Config::default();
    config.fairness.scope = scope;
    let mut world = World::with(config);
    let queues = queues(count);
    fill(&mut world, &queues, false);
    world.put_pool("p", json!({"queues": queues, "strategy": strategy}));
    average(&mut world, start_in_pool)
}

#[test]
fn queues_of_a_pool() {
    for strategy in ["strict", "round-robin", "weighted", "least-loaded"] {
        let load = |count: usize| in_pool(count, strategy, FairnessScope::Queue);
        assert_flat(strategy, load(2), load(1_000));
    }
}

#[test]
fn tenants_that_share_over_all_queues_of_a_pool() {
    let load = |tenants: usize, strategy: &str| {
        let mut config = Config::default();
        config.fairness.scope = FairnessScope::Pool;
        let (mut world, queues) = (World::with(config), queues(10));
        let tenants: Vec<&str> = (0..tenants).map(|n| name(format!("tenant{n}"))).collect();
        let of = |tenant: &&'static str| queues.iter().map(|queue| job(tenant).queue(queue));
        let jobs: Vec<Job> = tenants.iter().flat_map(of).collect();
        (0..(3 * STARTS).div_ceil(jobs.len())).for_each(|_| enqueue_all(&mut world, &jobs));
        world.put_pool("p", json!({"queues": queues, "strategy": strategy}));
        average(&mut world, start_in_pool)
    };
    for strategy in ["strict", "round-robin", "weighted", "least-loaded"] {
        assert_flat(strategy, load(2, strategy), load(2_000, strategy));
    }
}

#[test]
fn each_queue_of_a_pool_that_shares_over_all_of_them_costs_a_few_steps() {
    for strategy in ["strict", "round-robin", "weighted", "least-loaded"] {
        let [few, many] = [10, 1_000].map(|n| in_pool(n, strategy, FairnessScope::Pool) / n as f64);
        println!("{strategy}: {few} for each of few queues, {many} for each of many");
        assert!(many <= few + 1.0, "{strategy}: {few} for each of few, {many} for each of many");
    }
}

#[test]
fn what_is_written_of_a_pool_with_many_queues() {
    let load = |count: usize| {
        let mut world = large_world();
        let queues = queues(count);
        fill(&mut world, &queues, false);
        fill(&mut world, &queues, false);
        world.put_pool("p", json!({"queues": queues, "strategy": "round-robin"}));
        (0..count).for_each(|_| start_in_pool(&mut world));
        world.fetch_with(&[], 1, |fetch| fetch.pool = pool("p"));
        world.journaled() as f64
    };
    assert_flat("bytes for a start", load(2), load(1_000));
}

#[test]
fn a_capped_queue_while_fetches_of_other_tenants_wait() {
    let load = |fetches: u64| {
        let mut world = large_world();
        world.enqueue(&job("t"), 3 * STARTS);
        let settings = QueueSettings { concurrency: Some(1), ..QueueSettings::default() };
        let queue = QueueName::parse("default").unwrap();
        world.apply(Command::ConfigureQueue(queue, settings));
        for n in 0..fetches {
            let id = format!("other{n}");
            world.tenant(&id, json!({"fairness_weight": 2}));
            let own = Some(TenantId::parse(&id).unwrap());
            let wait = Some((WaiterId(n), 600_000));
            world.fetch_with(&["default"], 1, |fetch| (fetch.tenant, fetch.wait) = (own, wait));
        }
        average(&mut world, start_one(&["default"]))
    };
    assert_flat("a start in a capped queue", load(2), load(1_000));
}

#[test]
fn a_full_pool_with_many_queues_and_a_fetch_that_waits() {
    let load = |count: usize| {
        let mut world = large_world();
        let queues = queues(count);
        fill(&mut world, &queues, false);
        world.put_pool("p", json!({"queues": queues, "strategy": "strict", "concurrency": 1}));
        let mut next = 0;
        let mut wait = |world: &mut World| {
            next += 1;
            let wait = Some((WaiterId(next), 600_000));
            world.fetch_with(&[], 1, |fetch| (fetch.pool, fetch.wait) = (pool("p"), wait))
        };
        let mut running = wait(&mut world)[0].seq;
        assert!(wait(&mut world).is_empty());
        average(&mut world, |world| {
            world.ack(running);
            let Some((_, Reply::Fetched(claimed))) = world.woken.pop() else { panic!() };
            running = claimed[0].seq;
            assert!(wait(world).is_empty());
        })
    };
    assert_flat("a start in a full pool", load(2), load(1_000));
}

#[test]
fn a_tenants_waiting_fetches_are_not_tried_in_vain() {
    let cycle = |fetches: u64| {
        let mut world = World::new();
        world.enqueue(&job("a").limit(concurrency("k", 0)), 1);
        for n in 0..fetches {
            world.fetch_with(&["default"], 1, |fetch| {
                fetch.tenant = Some(TenantId::parse("a").unwrap());
                fetch.wait = Some((WaiterId(n + 1), 60_000));
            });
        }
        let queue = || QueueName::parse("default").unwrap();
        average(&mut world, |world| {
            world.apply(Command::PauseQueue(queue()));
            world.apply(Command::ResumeQueue(queue()));
        })
    };
    assert_flat("waiting fetches of the tenant", cycle(1), cycle(500));
}
