//! Who starts when several wait for the same key.

use std::collections::VecDeque;

use crate::world::{World, concurrency, count, job, name, pool};
use rota_engine::{Config, Fetch, Preference, Reason, WaiterId};
use rota_model::{FairnessScope, QueueStrategy, Seq, TenantId};
use serde_json::json;

fn two_and_a_bystander(world: &mut World) {
    world.tenant("heavy", json!({"fairness_weight": 3}));
    world.enqueue(&job("heavy").limit(concurrency("k", 1)), 200);
    world.enqueue(&job("light").limit(concurrency("k", 1)), 200);
    world.enqueue(&job("bystander"), 200);
}

#[test]
fn a_key_is_shared_by_weight_and_a_bystander_is_served_too() {
    let mut world = World::new();
    two_and_a_bystander(&mut world);
    let served = world.served(200);
    let (heavy, light) = (count(&served, "heavy"), count(&served, "light"));
    assert!(heavy.abs_diff(3 * light) <= 3, "{heavy} and {light}");
    assert!(count(&served, "bystander") >= 35, "{}", count(&served, "bystander"));
}

#[test]
fn a_key_that_is_always_in_use_is_shared_by_weight() {
    let mut world = World::new();
    two_and_a_bystander(&mut world);
    let mut served = Vec::new();
    for round in 0..120 {
        let claimed = world.fetch(2);
        let owners: Vec<String> = claimed.iter().map(|job| world.owner(job.seq)).collect();
        assert_eq!(count(&owners, "bystander"), 1, "{round}: {owners:?}");
        served.extend(owners);
        claimed.iter().for_each(|job| world.ack(job.seq));
    }
    let (heavy, light) = (count(&served, "heavy"), count(&served, "light"));
    assert!(heavy.abs_diff(90) <= 1 && light.abs_diff(30) <= 1, "{heavy} and {light}");
}

fn ten_queues() -> Vec<&'static str> {
    (0..10).map(|n| name(format!("q{n}"))).collect()
}

fn round_robin(fetch: &mut Fetch) {
    let strategy = QueueStrategy::RoundRobin;
    fetch.preference = Some(Preference { strategy, weights: Default::default() });
}

fn spread(world: &mut World, queues: &[&'static str]) {
    world.tenant("heavy", json!({"fairness_weight": 3}));
    world.enqueue(&job("heavy").queue("q0").limit(concurrency("k", 1)), 300);
    for queue in queues {
        world.enqueue(&job("light").queue(queue).limit(concurrency("k", 1)), 50);
    }
    world.enqueue(&job("bystander").queue("q1"), 300);
}

#[test]
fn in_pool_scope_ten_queues_get_no_more_of_a_key_than_one() {
    let mut config = Config::default();
    config.fairness.scope = FairnessScope::Pool;
    let (mut world, queues) = (World::with(config), ten_queues());
    spread(&mut world, &queues);
    let next = |_| world.next(&queues, round_robin).unwrap().0;
    let served: Vec<String> = (0..200).map(next).collect();
    let (heavy, light) = (count(&served, "heavy"), count(&served, "light"));
    assert!(heavy.abs_diff(3 * light) <= 3, "{heavy} and {light}");
    assert!(count(&served, "bystander").abs_diff(40) <= 2, "{}", count(&served, "bystander"));
}

#[test]
fn jobs_in_ten_queues_get_no_more_of_a_key_than_jobs_in_one() {
    let (mut world, queues) = (World::new(), ten_queues());
    spread(&mut world, &queues);
    let mut served = Vec::new();
    for _ in 0..200 {
        served.push(world.next(&queues, round_robin).unwrap().0);
    }
    let (heavy, light) = (count(&served, "heavy"), count(&served, "light"));
    assert!(heavy.abs_diff(3 * light) <= 6, "{heavy} and {light}");
    assert!(count(&served, "bystander") >= 15, "{}", count(&served, "bystander"));
}

#[test]
fn ten_queues_get_no_more_of_a_key_that_is_always_in_use() {
    let (mut world, queues) = (World::new(), ten_queues());
    spread(&mut world, &queues);
    let mut served = Vec::new();
    for _ in 0..120 {
        let claimed = world.fetch_with(&queues, 2, round_robin);
        served.extend(claimed.iter().map(|job| world.owner(job.seq)));
        claimed.iter().for_each(|job| world.ack(job.seq));
    }
    let (heavy, light) = (count(&served, "heavy"), count(&served, "light"));
    assert!(heavy + light >= 110, "the key is in use: {heavy} and {light}");
    assert!(heavy.abs_diff(3 * light) <= 6, "{heavy} and {light}");
    assert!(count(&served, "bystander") >= 100, "{}", count(&served, "bystander"));
}

#[test]
fn ten_queues_get_no_more_of_a_key_when_a_fetch_waits_at_each() {
    let (mut world, queues) = (World::new(), ten_queues());
    spread(&mut world, &queues);
    let mut running: VecDeque<(Seq, usize)> = VecDeque::new();
    let mut served = Vec::new();
    let mut waiters = 0;
    let mut wait = |world: &mut World, running: &mut VecDeque<(Seq, usize)>, at: usize| {
        waiters += 10;
        let id = WaiterId(waiters + at as u64);
        let claimed = world.fetch_with(&[queues[at]], 1, |fetch| fetch.wait = Some((id, 600_000)));
        running.extend(claimed.iter().map(|job| (job.seq, at)));
    };
    (0..10).for_each(|at| wait(&mut world, &mut running, at));
    for _ in 0..300 {
        let Some((seq, at)) = running.pop_front() else { break };
        served.push(world.owner(seq));
        // The worker asks for its next job before it says that it is done with this one.
        wait(&mut world, &mut running, at);
        world.ack(seq);
        for (WaiterId(id), reply) in std::mem::take(&mut world.woken) {
            let rota_engine::Reply::Fetched(claimed) = reply else { panic!("{reply:?}") };
            running.extend(claimed.iter().map(|job| (job.seq, (id % 10) as usize)));
        }
    }
    let (heavy, light) = (count(&served, "heavy"), count(&served, "light"));
    assert!(heavy + light >= 80, "{heavy} and {light}");
    assert!(heavy.abs_diff(3 * light) <= 6, "{heavy} and {light}");
}

#[test]
fn a_key_does_not_stand_idle_because_of_a_queue_that_nobody_fetches() {
    let mut world = World::new();
    world.enqueue(&job("first").queue("nobody").limit(concurrency("k", 1)), 10);
    world.enqueue(&job("second").queue("fetched").limit(concurrency("k", 1)), 10);
    for n in 0..10 {
        let next = world.next(&["fetched"], |_| {});
        assert_eq!(next.unwrap_or_else(|| panic!("nothing after {n}")).0, "second");
    }
    let mut world = World::new();
    world.enqueue(&job("second").queue("fetched").limit(concurrency("k", 1)), 1);
    let running = world.fetch_with(&["fetched"], 1, |_| {});
    world.enqueue(&job("first").queue("nobody").limit(concurrency("k", 1)), 10);
    world.enqueue(&job("second").queue("fetched").limit(concurrency("k", 1)), 10);
    world.fetch_with(&["fetched"], 1, |fetch| fetch.wait = Some((WaiterId(1), 60_000)));
    world.ack(running[0].seq);
    assert_eq!(world.woken.len(), 1, "whoever waits for the queue that is fetched gets it");
}

#[test]
fn what_a_tenants_own_worker_starts_counts_in_the_order_of_the_key() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(concurrency("k", 1)), 50);
    world.enqueue(&job("b").limit(concurrency("k", 1)), 50);
    world.served(2);
    let own = TenantId::parse("a").unwrap();
    for _ in 0..6 {
        world.next(&["default"], |fetch| fetch.tenant = Some(own.clone())).unwrap();
    }
    assert_eq!(world.served(6), ["b"; 6], "the key has given six to the other");
    let served = world.served(10);
    assert_eq!((count(&served, "a"), count(&served, "b")), (5, 5));
}

#[test]
fn what_is_declared_for_a_key_replaces_the_numbers_of_jobs() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(concurrency("k", 1)), 20);
    world.enqueue(&job("b").limit(concurrency("k", 5)), 20);
    world.say("k", json!({"concurrency": 3}), None);
    let running = world.fetch(20);
    assert_eq!(running.len(), 3, "neither one nor five");
    world.ack(running[0].seq);
    assert_eq!(world.fetch(20).len(), 1);
    world.say("k", json!({"concurrency": 6}), None);
    assert_eq!(world.fetch(20).len(), 3);
    world.crash(10);
    assert!(world.fetch(20).is_empty(), "it is declared after a restart, too");
}

#[test]
fn jobs_with_larger_numbers_start_once_an_override_is_over() {
    let mut world = World::new();
    world.say("k", json!({"concurrency": 1}), Some(60_000));
    world.enqueue(&job("a").limit(concurrency("k", 1)), 2);
    world.enqueue(&job("b").limit(concurrency("k", 5)), 2);
    assert_eq!(world.fetch(4).len(), 1, "the override holds all of them");
    world.pass(61_000);
    let owners: Vec<String> = world.fetch(4).iter().map(|job| world.owner(job.seq)).collect();
    assert_eq!(owners, ["b", "b"], "one of a is active, which says nothing to jobs of b");
}

#[test]
fn many_sets_of_numbers_give_a_tenant_no_more_of_a_key() {
    let mut world = World::new();
    for n in 0..200 {
        world.enqueue(&job("many").limit(concurrency("k", 1_000 + n)), 1);
    }
    world.enqueue(&job("one").limit(concurrency("k", 999)), 100);
    world.say("k", json!({"concurrency": 1}), None);
    let served = world.served(100);
    assert_eq!((count(&served, "many"), count(&served, "one")), (50, 50));
}

#[test]
fn a_key_passes_over_all_turns_of_a_tenant_at_its_cap() {
    let mut world = World::new();
    world.tenant("capped", json!({"max_concurrency": 1}));
    world.enqueue(&job("capped").queue("other"), 1);
    assert_eq!(world.fetch_with(&["other"], 1, |_| {}).len(), 1);
    for priority in [9, 5, 1] {
        world.enqueue(&job("capped").priority(priority).limit(concurrency("k", 1)), 1);
    }
    world.enqueue(&job("free").limit(concurrency("k", 1)), 1);
    world.enqueue(&job("last").queue("later").limit(concurrency("k", 1)), 1);
    let next = world.next(&["default", "later"], |_| {});
    assert_eq!(next.unwrap().0, "free", "queues are served in order");
}

#[test]
fn nobody_is_deferred_for_a_job_that_another_limit_holds() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["a", "b", "c"], "strategy": "round-robin"}));
    world.say("type:x", json!({"concurrency": 1}), None);
    let of = |tenant, queue| job(tenant).queue(queue).limit(concurrency("k", 1));
    world.enqueue(&of("one", "a"), 2);
    let first = world.fetch_with(&["a"], 1, |_| {});
    world.ack(first[0].seq);
    world.enqueue(&of("two", "b").kind("x"), 1);
    world.enqueue(&job("three").queue("c").kind("x"), 1);
    assert_eq!(world.fetch_with(&["c"], 1, |_| {}).len(), 1, "no other job of type x may start");
    let served = world.fetch_with(&["a", "b"], 1, |fetch| fetch.pool = pool("p"));
    assert_eq!(served.len(), 1, "the job of the tenant that comes first at the key may not start");
    assert_eq!(world.owner(served[0].seq), "one");
}

/// Starts of the key until `a` is served, after it had its first one by a small weight and got a large
/// one.
fn starts_until_a_heavier_tenant_is_served(scope: FairnessScope, kinds: usize) -> usize {
    let mut config = Config::default();
    config.fairness.scope = scope;
    let mut world = World::with(config);
    world.tenant("a", json!({"fairness_weight": 1}));
    let limit = || concurrency("k", 1);
    for n in 0..kinds {
        world.enqueue(&job("a").kind(name(format!("k{n}"))).limit(limit()), 2);
    }
    for tenant in ["b", "c", "d"] {
        world.tenant(tenant, json!({"fairness_weight": 1000}));
        world.enqueue(&job(tenant).limit(limit()), 100);
    }
    assert_eq!(count(&world.served(20), "a"), 1);
    world.tenant("a", json!({"fairness_weight": 1000}));
    world.served(50).iter().position(|owner| owner == "a").unwrap_or(50)
}

#[test]
fn a_raised_weight_counts_at_a_key_from_the_next_job_on() {
    for scope in [FairnessScope::Queue, FairnessScope::Pool] {
        for kinds in [1, 2_000] {
            let waited = starts_until_a_heavier_tenant_is_served(scope, kinds);
            assert!(waited <= 4, "{waited} starts, {scope:?}, {kinds} kinds");
        }
    }
}

#[test]
fn so_does_one_that_was_raised_while_nothing_waited() {
    let mut world = World::new();
    let limited = |tenant| job(tenant).limit(concurrency("k", 1));
    for tenant in ["b", "c"] {
        world.tenant(tenant, json!({"fairness_weight": 1000}));
        world.enqueue(&limited(tenant), 100);
    }
    world.tenant("a", json!({"fairness_weight": 1}));
    world.enqueue(&limited("a"), 1);
    assert_eq!(count(&world.served(10), "a"), 1);
    world.tenant("a", json!({"fairness_weight": 1000}));
    world.enqueue(&limited("a"), 10);
    let served = world.served(9);
    assert!(count(&served, "a") >= 2, "{served:?}");
}

#[test]
fn a_job_at_a_full_key_is_said_to_be_overtaken_by_those_with_larger_numbers() {
    let mut world = World::new();
    let of = |most| job("t").limit(concurrency("k", most));
    world.enqueue(&of(3), 6);
    let small = world.enqueue(&of(1), 1)[0];
    assert_eq!(world.fetch(9).len(), 3);
    let held = |world: &World, seq: Seq| {
        let explained = world.engine.explain(&world.target(seq));
        let at_limit = |reason: &Reason| match reason {
            Reason::Limit { limit, current, overtaken, .. } => Some((*limit, *current, *overtaken)),
            _ => None,
        };
        explained.reasons.iter().find_map(at_limit)
    };
    assert_eq!(held(&world, small), Some((1, 3, true)));
    let large = world.enqueue(&of(3), 1)[0];
    assert_eq!(held(&world, large), Some((3, 3, false)));
}
