//! Shares over all queues of a pool, or of a fetch.

use crate::world::{World, count, job, name, pool};
use rota_engine::{Command, Config, Fetch, Preference};
use rota_model::{FairnessScope, QueueName, QueueStrategy, TenantId};
use serde_json::json;

fn pool_scope() -> World {
    let mut config = Config::default();
    config.fairness.scope = FairnessScope::Pool;
    World::with(config)
}

fn round_robin() -> Option<Preference> {
    Some(Preference { strategy: QueueStrategy::RoundRobin, weights: Default::default() })
}

const WEIGHTS: [(&str, &str, usize); 3] = [("a", "qa", 10), ("b", "qb", 5), ("c", "qc", 1)];

/// Three tenants of weights 10, 5 and 1, each with a queue of its own.
fn three_tenants(world: &mut World) {
    for (tenant, queue, weight) in WEIGHTS {
        world.tenant(tenant, json!({"fairness_weight": weight}));
        world.enqueue(&job(tenant).queue(queue), 400);
    }
}

/// The tenants of the next jobs, by round-robin over the three queues.
fn served_without_pool(world: &mut World, times: usize) -> Vec<String> {
    let next = |_| {
        let next = world.next(&["qa", "qb", "qc"], |fetch| fetch.preference = round_robin());
        next.unwrap().0
    };
    (0..times).map(next).collect()
}

fn served_by_pool(world: &mut World, name: &str, queues: &[&str], times: usize) -> Vec<String> {
    let next = |_| world.next(queues, |fetch| fetch.pool = pool(name)).unwrap().0;
    (0..times).map(next).collect()
}

/// At every moment each tenant has had its part, give or take so many jobs.
fn assert_shares(served: &[String], slack: usize) {
    for n in 1..=served.len() {
        for (tenant, _, weight) in WEIGHTS {
            let got = count(&served[..n], tenant);
            let off = (got * 16).abs_diff(n * weight);
            assert!(off <= 16 * slack, "{tenant} has had {got} of the first {n}");
        }
    }
}

#[test]
fn weights_hold_over_all_queues_of_a_fetch() {
    let mut world = pool_scope();
    three_tenants(&mut world);
    let served = served_without_pool(&mut world, 320);
    assert_shares(&served, 1);
    let counts = ["a", "b", "c"].map(|tenant| count(&served, tenant));
    assert_eq!(counts, [200, 100, 20]);
}

#[test]
fn weights_hold_over_all_queues_of_a_pool_that_says_so() {
    let mut world = World::new();
    three_tenants(&mut world);
    let shared = json!({
        "queues": ["qa", "qb", "qc"], "strategy": "round-robin", "fairness_scope": "pool",
    });
    world.put_pool("p", shared);
    let served = served_by_pool(&mut world, "p", &[], 320);
    assert_shares(&served, 1);
}

#[test]
fn by_queue_the_same_load_gives_each_queue_a_third() {
    let mut world = World::new();
    three_tenants(&mut world);
    let served = served_without_pool(&mut world, 300);
    let counts = ["a", "b", "c"].map(|tenant| count(&served, tenant));
    assert_eq!(counts, [100, 100, 100]);
}

#[test]
fn ten_queues_give_a_tenant_no_more_than_one() {
    let mut world = pool_scope();
    let queues: Vec<&str> = (0..10).map(|n| name(format!("q{n}"))).collect();
    for queue in &queues {
        world.enqueue(&job("many").queue(queue), 50);
    }
    world.enqueue(&job("one").queue("q0"), 200);
    let mut served = Vec::new();
    for _ in 0..200 {
        let next = world.next(&queues, |fetch| fetch.preference = round_robin());
        served.push(next.unwrap().0);
        assert!(count(&served, "many").abs_diff(count(&served, "one")) <= 1, "{served:?}");
    }
}

#[test]
fn a_higher_priority_goes_first_whichever_queue_it_is_in() {
    let mut world = pool_scope();
    world.enqueue(&job("a").queue("first"), 20);
    world.enqueue(&job("b").queue("second"), 5);
    let urgent = world.enqueue(&job("b").queue("second").priority(5), 10);
    let next = |world: &mut World| world.fetch_with(&["first", "second"], 1, |_| {})[0].seq;
    let order: Vec<_> = (0..10).map(|_| next(&mut world)).collect();
    assert_eq!(order, urgent);
    let after = next(&mut world);
    assert_eq!(world.queue_of(after), "first", "the levels have accounts of their own");
}

#[test]
fn a_fetch_for_some_queues_of_a_pool_charges_the_pools_account() {
    let mut world = pool_scope();
    world.enqueue(&job("x").queue("a"), 50);
    world.enqueue(&job("y").queue("b"), 50);
    world.put_pool("p", json!({"queues": ["a", "b"], "strategy": "round-robin"}));
    served_by_pool(&mut world, "p", &[], 2);
    assert_eq!(served_by_pool(&mut world, "p", &["a"], 6), ["x"; 6]);
    assert_eq!(served_by_pool(&mut world, "p", &[], 6), ["y"; 6]);
    let next = served_by_pool(&mut world, "p", &[], 10);
    assert_eq!((count(&next, "x"), count(&next, "y")), (5, 5));
}

#[test]
fn what_a_guaranteed_part_forces_is_charged() {
    let mut world = pool_scope();
    world.enqueue(&job("x").queue("a"), 300);
    world.enqueue(&job("x").queue("b"), 300);
    world.enqueue(&job("y").queue("a"), 300);
    let rule = json!({"enabled": true, "min_dispatch_ratio": 0.4});
    let strict = json!({
        "queues": ["a", "b"], "strategy": "strict", "starvation_prevention": rule,
    });
    world.put_pool("p", strict);
    let mut of_b = 0;
    let mut served = Vec::new();
    for _ in 0..200 {
        let (tenant, queue) = world.next(&[], |fetch| fetch.pool = pool("p")).unwrap();
        of_b += usize::from(queue == "b");
        served.push(tenant);
    }
    assert!(of_b >= 79, "{of_b}");
    assert!(count(&served, "x").abs_diff(count(&served, "y")) <= 2, "{}", count(&served, "x"));
}

#[test]
fn pools_on_the_same_queues_have_accounts_of_their_own() {
    let mut world = pool_scope();
    world.enqueue(&job("x").queue("a"), 50);
    world.enqueue(&job("y").queue("b"), 50);
    for name in ["p", "q"] {
        world.put_pool(name, json!({"queues": ["a", "b"], "strategy": "round-robin"}));
        served_by_pool(&mut world, name, &[], 2);
    }
    assert_eq!(served_by_pool(&mut world, "p", &["a"], 6), ["x"; 6]);
    let other = served_by_pool(&mut world, "q", &[], 6);
    assert_eq!((count(&other, "x"), count(&other, "y")), (3, 3));
    assert_eq!(served_by_pool(&mut world, "p", &[], 6), ["y"; 6]);
}

#[test]
fn a_pools_shares_survive_restarts() {
    let mut world = pool_scope();
    three_tenants(&mut world);
    let three = json!({"queues": ["qa", "qb", "qc"], "strategy": "round-robin"});
    world.put_pool("p", three);
    let mut served = Vec::new();
    for _ in 0..20 {
        served.extend(served_by_pool(&mut world, "p", &[], 7));
        world.crash(3);
    }
    let slack = 1;
    for (tenant, _, weight) in WEIGHTS {
        let (got, due) = (count(&served, tenant), served.len() * weight / 16);
        assert!(got.abs_diff(due) <= slack, "{tenant} has had {got} instead of {due}");
    }
}

#[test]
fn what_a_pool_was_ahead_before_a_restart_it_is_ahead_after_it() {
    let mut world = pool_scope();
    world.tenant("x", json!({"fairness_weight": 4}));
    world.enqueue(&job("x").queue("a"), 50);
    world.enqueue(&job("y").queue("b"), 50);
    world.put_pool("p", json!({"queues": ["a", "b"], "strategy": "round-robin"}));
    // One job of the lighter tenant is worth four of the other.
    let mut served = Vec::new();
    while served.last().is_none_or(|last| last != "y") {
        served.extend(served_by_pool(&mut world, "p", &[], 1));
    }
    let before = count(&served, "x");
    world.crash(3);
    let after = served_by_pool(&mut world, "p", &[], 4 - before.min(3));
    assert_eq!(count(&after, "y"), 0, "{served:?} then {after:?}");
}

#[test]
fn shares_over_the_queues_of_a_fetch_survive_restarts() {
    let mut world = pool_scope();
    three_tenants(&mut world);
    let mut served = Vec::new();
    for _ in 0..20 {
        served.extend(served_without_pool(&mut world, 7));
        world.crash(3);
    }
    let slack = 3;
    for (tenant, _, weight) in WEIGHTS {
        let (got, due) = (count(&served, tenant), served.len() * weight / 16);
        assert!(got.abs_diff(due) <= slack, "{tenant} has had {got} instead of {due}");
    }
}

#[test]
fn fetches_for_some_queues_do_not_set_newcomers_back() {
    let mut world = pool_scope();
    for (tenant, queue) in [("x", "a"), ("y", "b")] {
        world.enqueue(&job(tenant).queue(queue), 200);
    }
    world.put_pool("p", json!({"queues": ["a", "b"], "strategy": "round-robin"}));
    let of_pool = |fetch: &mut Fetch| fetch.pool = pool("p");
    for _ in 0..50 {
        assert_eq!(world.next(&["a"], of_pool).unwrap().0, "x");
    }
    world.enqueue(&job("z").queue("b"), 200);
    let served: Vec<String> = (0..20).map(|_| world.next(&[], of_pool).unwrap().0).collect();
    assert!(count(&served, "z").abs_diff(count(&served, "y")) <= 1, "{served:?}");
}

#[test]
fn a_tenant_whose_queue_is_paused_saves_nothing() {
    let mut world = pool_scope();
    for (tenant, queue) in [("x", "a"), ("y", "b")] {
        world.enqueue(&job(tenant).queue(queue), 200);
    }
    world.put_pool("p", json!({"queues": ["a", "b"], "strategy": "round-robin"}));
    let of_pool = |fetch: &mut Fetch| fetch.pool = pool("p");
    let paused = QueueName::parse("b").unwrap();
    world.apply(Command::PauseQueue(paused.clone()));
    for _ in 0..50 {
        assert_eq!(world.next(&[], of_pool).unwrap().0, "x");
    }
    world.apply(Command::ResumeQueue(paused));
    let served: Vec<String> = (0..20).map(|_| world.next(&[], of_pool).unwrap().0).collect();
    assert!(count(&served, "x").abs_diff(count(&served, "y")) <= 1, "{served:?}");
}

#[test]
fn nobody_is_shown_a_share_of_what_goes_to_others_first() {
    let mut world = World::new();
    for (tenant, queue, priority) in [("urgent", "a", 5), ("low", "a", 0), ("later", "b", 0)] {
        world.enqueue(&job(tenant).queue(queue).priority(priority), 50);
    }
    (0..10).for_each(|_| assert_eq!(world.next(&["a", "b"], |_| {}).unwrap().0, "urgent"));
    let entitled = |id: &str| world.engine.tenant(id).unwrap().entitled;
    assert_eq!(["urgent", "low", "later"].map(entitled), [1.0, 0.0, 0.0]);
}

#[test]
fn a_pool_shows_its_shares_before_anybody_asks() {
    let mut world = World::new();
    three_tenants(&mut world);
    world.put_pool("p", json!({"queues": ["qa", "qb", "qc"], "fairness_scope": "pool"}));
    let entitled = |id: &str| world.engine.tenant(id).unwrap().entitled;
    assert_eq!(["a", "b", "c"].map(entitled), [0.625, 0.3125, 0.0625]);
}

#[test]
fn one_tenants_own_workers_take_no_accounts_from_others() {
    let mut world = pool_scope();
    three_tenants(&mut world);
    let queues: Vec<&str> = (0..30).map(|n| name(format!("own{n}"))).collect();
    for queue in &queues {
        world.enqueue(&job("a").queue(queue), 1);
    }
    let own = TenantId::parse("a").unwrap();
    for (n, first) in queues.iter().enumerate() {
        for second in queues.iter().skip(n + 1) {
            world.fetch_with(&[first, second], 0, |fetch| fetch.tenant = Some(own.clone()));
        }
    }
    let served = served_without_pool(&mut world, 160);
    assert_shares(&served, 1);
}
