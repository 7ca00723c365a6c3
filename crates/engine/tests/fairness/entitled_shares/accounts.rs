//! In queues, pools and sets of queues, and in several of them at once.

use rota_model::FairnessScope;
use serde_json::json;

use super::scene::{RUN, Scene, from, from_pool, round_robin, start};
use crate::world::job;

#[test]
fn in_one_queue() {
    let mut scene = Scene::in_queues();
    for (id, weight) in [("a", 10), ("b", 5), ("c", 1)] {
        scene = scene.tenant(id, weight, &["q"]);
    }
    scene.holds(&[("a", 0.625), ("b", 0.3125), ("c", 0.0625)], from(&["q"]));
}

#[test]
fn over_queues_in_queue_scope() {
    let scene = Scene::in_queues().tenant("a", 10, &["qa", "qb"]).tenant("b", 5, &["qb"]);
    let mut scene = scene.tenant("c", 1, &["qc"]);
    let part = 10.0 / 15.0 / 3.0 + 1.0 / 3.0;
    scene.holds(&[("a", part), ("c", 1.0 / 3.0)], from(&["qa", "qb", "qc"]));
}

#[test]
fn over_queues_in_pool_scope() {
    let scene = Scene::in_pools().tenant("a", 10, &["qa", "qb"]).tenant("b", 5, &["qb"]);
    let mut scene = scene.tenant("c", 1, &["qc"]);
    scene.holds(&[("a", 0.625), ("b", 0.3125)], from(&["qa", "qb", "qc"]));
}

#[test]
fn in_a_pool_with_a_scope_of_its_own() {
    let scene = Scene::in_queues().tenant("a", 10, &["qa", "qb"]).tenant("b", 5, &["qb"]);
    let mut scene = scene.pool("p", &["qa", "qb"], "pool");
    scene.holds(&[("a", 10.0 / 15.0)], from_pool("p"));

    let scene = Scene::in_pools().tenant("a", 10, &["qa"]).tenant("b", 5, &["qb"]);
    let mut scene = scene.pool("p", &["qa", "qb"], "queue");
    scene.holds(&[("a", 0.5), ("b", 0.5)], from_pool("p"));
}

#[test]
fn in_scopes_that_are_mixed() {
    let scene = Scene::in_queues().tenant("a", 3, &["qa", "qb"]).tenant("b", 1, &["qb"]);
    let mut scene = scene.tenant("c", 1, &["qa"]).pool("p", &["qa", "qb"], "pool");
    let (by_pool, by_queue) = (from_pool("p"), from(&["qa"]));
    let expected = [("a", 0.6 / 2.0 + 0.75 / 2.0), ("b", 0.1), ("c", 0.1 + 0.125)];
    scene.holds(&expected, |world, turn| match turn % 2 {
        0 => by_pool(world, turn),
        _ => by_queue(world, turn),
    });
}

#[test]
fn beside_a_pool_that_nobody_uses() {
    let scene = Scene::in_queues().tenant("a", 3, &["qa", "qb"]).tenant("b", 1, &["qa"]);
    let mut scene = scene.pool("p", &["qa", "qb"], "pool");
    scene.holds(&[("a", 0.75), ("b", 0.25)], from(&["qa"]));
}

#[test]
fn in_two_pools_that_share_a_queue() {
    let scene = Scene::in_queues().tenant("a", 2, &["q1", "q2"]).tenant("b", 1, &["q2"]);
    let scene = scene.tenant("c", 1, &["q2", "q3"]).tenant("d", 4, &["q3"]);
    let scene = scene.pool("one", &["q1", "q2"], "pool");
    let mut scene = scene.pool("two", &["q2", "q3"], "pool");
    let (one, two) = (from_pool("one"), from_pool("two"));
    let expected = [("a", 2.0 / 4.0 * 0.75 + 2.0 / 8.0 * 0.25), ("d", 4.0 / 8.0 * 0.25)];
    scene.holds(&expected, |world, turn| match turn % 4 {
        0 => two(world, turn),
        _ => one(world, turn),
    });
}

#[test]
fn of_fetches_by_different_sets() {
    let scene = Scene::in_pools().tenant("a", 2, &["q1"]).tenant("b", 1, &["q2"]);
    let mut scene = scene.tenant("c", 1, &["q3"]);
    let (first, second) = (from(&["q1", "q2"]), from(&["q2", "q3"]));
    let single = from(&["q3"]);
    let expected = [("a", 2.0 / 9.0), ("b", 1.0 / 9.0 + 1.0 / 6.0), ("c", 1.0 / 6.0 + 1.0 / 3.0)];
    scene.holds(&expected, |world, turn| match turn % 3 {
        0 => first(world, turn),
        1 => second(world, turn),
        _ => single(world, turn),
    });
}

#[test]
fn with_priorities_and_boosts() {
    let mut scene = Scene::in_pools().tenant("a", 2, &["q1"]).tenant("b", 1, &["q1", "q2"]);
    scene = scene.tenant("low", 9, &["q1", "q2"]);
    let boost = |weight| json!({"fairness_weight": weight, "priority_boost": 3});
    scene.world.tenant("a", boost(2));
    scene.world.enqueue(&job("b").queue("q2").priority(3), 2 * RUN);
    let expected = [("a", 2.0 / 3.0), ("b", 1.0 / 3.0), ("low", 0.0)];
    scene.holds(&expected, from(&["q1", "q2"]));
}

#[test]
fn beside_a_tenants_own_workers() {
    for scope in [FairnessScope::Queue, FairnessScope::Pool] {
        let scene = Scene::new(scope).tenant("a", 3, &["q1", "q2"]).tenant("b", 1, &["q1", "q2"]);
        let mut scene = scene.tenant("idle", 9, &[]);
        scene.holds(&[("a", 0.75), ("b", 0.25), ("idle", 0.0)], |world, turn| {
            if turn % 2 == 0 {
                let seq = start(world, &["q1", "q2"], "b");
                world.ack(seq);
            }
            world.next(&["q1", "q2"], round_robin).unwrap().0
        });
    }
}
