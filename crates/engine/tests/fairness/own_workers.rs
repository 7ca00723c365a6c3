//! What tenants' own workers take, and whether that counts.

use crate::world::{World, count, job, pool};
use rota_engine::{Command, Config};
use rota_model::{FairnessScope, QueueName, TenantId};
use serde_json::json;

fn two_tenants(charge: bool) -> World {
    let mut config = Config::default();
    config.fairness.charge_own_workers = charge;
    let mut world = World::with(config);
    world.enqueue(&job("a"), 60);
    world.enqueue(&job("b"), 60);
    world
}

/// Tenant `a`'s own worker takes so many of its jobs.
fn take_own(world: &mut World, times: usize) {
    let own = TenantId::parse("a").unwrap();
    for _ in 0..times {
        let next = world.next(&["default"], |fetch| fetch.tenant = Some(own.clone()));
        assert_eq!(next.unwrap().0, "a");
    }
}

#[test]
fn what_a_tenants_own_workers_take_leaves_its_share_alone() {
    let mut world = two_tenants(false);
    world.served(2);
    take_own(&mut world, 10);
    let served = world.served(10);
    assert_eq!((count(&served, "a"), count(&served, "b")), (5, 5));
}

#[test]
fn it_counts_against_the_share_where_own_workers_are_charged() {
    let mut world = two_tenants(true);
    world.served(2);
    take_own(&mut world, 10);
    assert_eq!(world.served(10), ["b"; 10]);
    let served = world.served(10);
    assert_eq!((count(&served, "a"), count(&served, "b")), (5, 5));
}

#[test]
fn the_actual_share_counts_in_the_same_way() {
    for (charge, a, b) in [(false, 0.5, 0.5), (true, 10.0 / 16.0, 6.0 / 16.0)] {
        let mut world = two_tenants(charge);
        take_own(&mut world, 10);
        world.served(6);
        let actual = |tenant: &str| world.engine.tenant(tenant).unwrap().actual;
        assert_eq!((actual("a"), actual("b")), (a, b), "charged: {charge}");
        let share = |tenant: &str| world.engine.share(tenant).unwrap().actual;
        assert_eq!((share("a"), share("b")), (a, b), "charged: {charge}");
    }
}

#[test]
fn own_workers_are_charged_from_the_present_round_on() {
    let mut config = Config::default();
    config.fairness.charge_own_workers = true;
    config.fairness.scope = FairnessScope::Pool;
    let mut world = World::with(config);
    world.put_pool("p", json!({"queues": ["closed", "default"]}));
    world.enqueue(&job("a").queue("closed"), 10);
    world.apply(Command::PauseQueue(QueueName::parse("closed").unwrap()));
    world.enqueue(&job("b"), 60);
    let in_pool = |world: &mut World| world.next(&[], |fetch| fetch.pool = pool("p")).unwrap().0;
    (0..5).for_each(|_| assert_eq!(in_pool(&mut world), "b", "a's queue is closed"));

    world.enqueue(&job("a"), 60);
    let own = TenantId::parse("a").unwrap();
    for _ in 0..3 {
        let next = world.next(&[], |fetch| {
            (fetch.pool, fetch.tenant) = (pool("p"), Some(own.clone()));
        });
        assert_eq!(next.unwrap().0, "a");
    }
    let served: Vec<String> = (0..2).map(|_| in_pool(&mut world)).collect();
    assert_eq!(served, ["b", "b"], "a is three jobs ahead");
}

#[test]
fn a_tenants_own_worker_keeps_a_job_no_longer_than_it_may() {
    let mut world = two_tenants(false);
    let (own, hour) = (TenantId::parse("a").unwrap(), Config::default().max_own_visibility_ms);
    let fetch = |world: &mut World, tenant: Option<TenantId>| {
        let claimed = world.fetch_with(&["default"], 1, |fetch| {
            (fetch.tenant, fetch.visibility_ms) = (tenant, Some(20 * hour));
        });
        claimed[0].reserved_ms
    };
    assert_eq!(fetch(&mut world, Some(own)), hour);
    assert_eq!(fetch(&mut world, None), 20 * hour);
}
