//! What a start costs does not depend on at how many keys others come first, in steps of the scheduler.

use crate::scheduling_cost::{STARTS, assert_flat, average, enqueue_all, steps_of};
use crate::world::{Job, World, cap_queues, concurrency, count, job, name};
use rota_engine::{Config, Fetch, Preference};
use rota_model::{FairnessScope, QueueStrategy};
use serde_json::json;

const QUEUES: [&str; 2] = ["q0", "q1"];

/// Two tenants share keys of one start each. The one whose queue is fetched first is the later at all
/// of the keys: by its priority, or in pool scope, where that would also decide who is served, because
/// its jobs are younger.
fn keys_at_which_others_come_first(keys: usize, scope: FairnessScope) -> World {
    let mut config = Config { caps: cap_queues(100_000), ..Config::default() };
    config.fairness.scope = scope;
    let mut world = World::with(config);
    let urgent = if scope == FairnessScope::Queue { 5 } else { 0 };
    for (tenant, queue, priority) in [("first", "q1", urgent), ("later", "q0", 0)] {
        let at = |n: usize| concurrency(name(format!("k{n}")), 1);
        let of = |n: usize| job(tenant).queue(queue).priority(priority).limit(at(n));
        let mut jobs: Vec<Job> = (0..keys).map(of).collect();
        if tenant == "later" {
            // What it would start first is what the other starts last.
            jobs.reverse();
        }
        (0..(3 * STARTS).div_ceil(keys)).for_each(|_| enqueue_all(&mut world, &jobs));
    }
    world
}

fn round_robin(fetch: &mut Fetch) {
    let strategy = QueueStrategy::RoundRobin;
    fetch.preference = Some(Preference { strategy, weights: Default::default() });
}

fn start_one(world: &mut World) {
    world.next(&QUEUES, round_robin).expect("there is a job");
}

#[test]
fn a_start_while_others_come_first_at_many_keys() {
    for scope in [FairnessScope::Queue, FairnessScope::Pool] {
        let load = |keys| average(&mut keys_at_which_others_come_first(keys, scope), start_one);
        let (few, some, many) = (load(3), load(15), load(1_000));
        println!("{scope:?}: {few} with three, {some} with fifteen, {many} with a thousand");
        assert!(many <= 1.5 * some.max(100.0), "{scope:?}: {some} with some, {many} with many");
    }
}

#[test]
fn a_start_of_a_batch_while_others_come_first_at_many_keys() {
    for scope in [FairnessScope::Queue, FairnessScope::Pool] {
        let load = |keys| {
            let mut world = keys_at_which_others_come_first(keys, scope);
            let all = |world: &mut World| {
                assert_eq!(world.fetch_with(&QUEUES, keys, round_robin).len(), keys);
            };
            steps_of(&mut world, all) / keys as f64
        };
        assert_flat(&format!("{scope:?}"), load(3), load(1_000));
    }
}

/// Jobs that turn out not to start do not make a fetch compare again what it has compared.
#[test]
fn turns_that_turn_out_not_to_start_while_others_are_deferred() {
    let load = |kinds: usize| {
        let mut world = keys_at_which_others_come_first(10, FairnessScope::Queue);
        let kinds: Vec<&str> = (0..kinds).map(|n| name(format!("t{n}"))).collect();
        for kind in &kinds {
            let key = concurrency("shared", 1_000);
            world.enqueue(&job("held").queue("q0").kind(kind).limit(key), 1);
        }
        for kind in &kinds {
            world.say(&format!("type:{kind}"), json!({"concurrency": 0}), None);
        }
        steps_of(&mut world, start_one) / kinds.len() as f64
    };
    assert_flat("for each that may not start", load(50), load(500));
    let few = load(500);
    assert!(few <= 20.0, "{few} for each that may not start");
}

/// Up to the bound, the key's order holds at all keys.
#[test]
fn each_start_of_a_batch_goes_to_whoever_is_first_at_its_key() {
    let mut world = keys_at_which_others_come_first(16, FairnessScope::Queue);
    let claimed = world.fetch_with(&QUEUES, 16, round_robin);
    let owners: Vec<String> = claimed.iter().map(|job| world.owner(job.seq)).collect();
    assert_eq!(count(&owners, "first"), 16, "{owners:?}");
}
