//! What a tenant has had ahead of others in an account over several queues, across restarts.

use crate::world::{World, count, job, pool};
use rota_engine::{Command, Config, Fetch};
use rota_model::{FairnessScope, PoolName, QueueName};
use serde_json::json;

const PARTIAL: usize = 50;

fn in_pool_scope() -> World {
    let mut config = Config::default();
    config.fairness.scope = FairnessScope::Pool;
    World::with(config)
}

/// Two tenants with a queue each, and a pool over both queues.
fn two_tenants() -> World {
    let mut world = in_pool_scope();
    for (tenant, queue) in [("a", "qa"), ("b", "qb")] {
        world.enqueue(&job(tenant).queue(queue), 400);
    }
    make_pool(&mut world);
    world
}

fn make_pool(world: &mut World) {
    world.put_pool("p", json!({"queues": ["qa", "qb"]}));
}

fn of_pool(fetch: &mut Fetch) {
    fetch.pool = pool("p");
}

/// So many jobs, one after the other.
fn take(world: &mut World, queues: &[&str], with: fn(&mut Fetch), times: usize) -> Vec<String> {
    (0..times).map(|_| world.next(queues, with).unwrap().0).collect()
}

#[test]
fn others_catch_up_after_a_restart() {
    for first in [0, 10] {
        let mut world = two_tenants();
        take(&mut world, &[], of_pool, first);
        take(&mut world, &["qa"], of_pool, PARTIAL);
        world.crash(10);
        take(&mut world, &[], of_pool, 10);
        world.crash(10);
        let next = take(&mut world, &[], of_pool, PARTIAL - 10);
        assert_eq!(count(&next, "b"), PARTIAL - 10, "after {first}");
        let next = take(&mut world, &[], of_pool, 20);
        assert!(count(&next, "b").abs_diff(10) <= 1, "{next:?}");
    }
}

#[test]
fn who_joined_and_was_not_served_begins_in_the_present_round() {
    let mut world = two_tenants();
    take(&mut world, &[], of_pool, 100);
    world.enqueue(&job("c").queue("qb"), 100);
    world.crash(10);
    let next = take(&mut world, &[], of_pool, 30);
    assert_eq!(["a", "b", "c"].map(|id| count(&next, id)), [10, 10, 10]);
}

#[test]
fn what_was_forgiven_stays_forgiven() {
    // Nobody waited for a while, so nobody owes anything.
    let mut world = in_pool_scope();
    make_pool(&mut world);
    world.enqueue(&job("a").queue("qa"), PARTIAL);
    world.enqueue(&job("b").queue("qb"), 1);
    take(&mut world, &["qa"], of_pool, PARTIAL);
    take(&mut world, &[], of_pool, 1);
    for (tenant, queue) in [("a", "qa"), ("b", "qb")] {
        world.enqueue(&job(tenant).queue(queue), 100);
    }
    world.crash(10);
    let next = take(&mut world, &[], of_pool, 20);
    assert!(count(&next, "a").abs_diff(10) <= 1, "{next:?}");
}

#[test]
fn another_weight_forgives_what_it_does_without_a_restart() {
    let mut world = two_tenants();
    world.tenant("a", json!({"fairness_weight": 0.01}));
    take(&mut world, &[], of_pool, 4);
    world.tenant("a", json!({"fairness_weight": 1}));
    world.crash(10);
    let next = take(&mut world, &[], of_pool, 20);
    assert!(count(&next, "a").abs_diff(10) <= 1, "{next:?}");
}

#[test]
fn a_pool_of_the_same_name_knows_nothing_of_the_last_one() {
    let mut world = two_tenants();
    take(&mut world, &[], of_pool, 10);
    take(&mut world, &["qa"], of_pool, PARTIAL);
    world.apply(Command::RemovePool(PoolName::parse("p").unwrap()));
    make_pool(&mut world);
    let next = take(&mut world, &["qb"], of_pool, 5);
    assert_eq!(count(&next, "b"), 5);
    world.crash(10);
    let next = take(&mut world, &[], of_pool, 25);
    assert!(count(&next, "a").abs_diff(15) <= 1, "{next:?}");
}

#[test]
fn sets_of_queues_remember_as_pools_do() {
    let mut world = in_pool_scope();
    for (tenant, queue) in [("a", "qa"), ("b", "qb")] {
        world.enqueue(&job(tenant).queue(queue), 400);
    }
    // b cannot be served, and a goes on. That is nobody's debt, before a restart and after it.
    take(&mut world, &["qa", "qb"], |_| {}, 10);
    world.apply(Command::PauseQueue(QueueName::parse("qb").unwrap()));
    take(&mut world, &["qa", "qb"], |_| {}, PARTIAL);
    world.crash(10);
    world.apply(Command::ResumeQueue(QueueName::parse("qb").unwrap()));
    let next = take(&mut world, &["qa", "qb"], |_| {}, 20);
    assert!(count(&next, "a").abs_diff(10) <= 1, "{next:?}");
}
