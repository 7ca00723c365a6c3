//! Before the first dispatch, after a restart, and when pools and queues come, change or go.

use std::collections::BTreeMap;

use rota_engine::{Command, Config};
use rota_model::PoolName;

use super::scene::{Scene, from, from_pool, round_robin};
use crate::world::World;

#[test]
fn after_a_restart() {
    let scene = Scene::in_queues().tenant("a", 3, &["qa", "qb"]).tenant("b", 1, &["qb"]);
    let mut scene = scene.tenant("c", 1, &["qa"]).pool("p", &["qa", "qb"], "pool");
    let (by_pool, by_queue) = (from_pool("p"), from(&["qa"]));
    for turn in 0..40 {
        by_pool(&mut scene.world, turn);
        by_queue(&mut scene.world, turn);
        by_queue(&mut scene.world, turn);
    }
    let before = scene.shown();
    scene.world.crash(10);
    assert_eq!(scene.shown(), before);
    scene.world.pass(30_000);
    scene.world.crash(10);
    assert_eq!(scene.shown(), before);
}

#[test]
fn of_sets_after_a_restart() {
    let queues: &[&str] = &["qa", "qb", "qc"];
    let scene = Scene::in_pools().tenant("a", 10, &["qa"]).tenant("b", 5, &["qb"]);
    let mut scene = scene.tenant("c", 1, &["qc"]).tenant("idle", 1, &[]);
    let expected = BTreeMap::from([("a", 0.625), ("b", 0.3125), ("c", 0.0625), ("idle", 0.0)]);
    for turn in 0..48 {
        from(&["qa", "qb", "qc"])(&mut scene.world, turn);
    }
    for _ in 0..2 {
        scene.world.crash(10);
        assert_eq!(scene.shown(), expected);
        assert!(scene.shown()["idle"].is_sign_positive());
    }
    // Nothing was handed out in the last minute.
    scene.world.pass(120_000);
    scene.world.crash(10);
    assert_eq!(scene.shown(), expected);
    scene.world.next(queues, round_robin).unwrap();
    assert_eq!(scene.shown(), expected);
}

#[test]
fn after_a_pool_was_deleted() {
    let scene = Scene::in_pools().tenant("a", 10, &["qa"]).tenant("b", 5, &["qb"]);
    let mut scene = scene.pool("p", &["qa", "qb"], "pool");
    from(&["qa", "qb"])(&mut scene.world, 0);
    (0..60).for_each(|turn| _ = from_pool("p")(&mut scene.world, turn));
    let expected = BTreeMap::from([("a", 10.0 / 15.0), ("b", 5.0 / 15.0)]);
    scene.world.apply(Command::RemovePool(PoolName::parse("p").unwrap()));
    assert_eq!(scene.shown(), expected);
    scene.world.crash(10);
    assert_eq!(scene.shown(), expected);
}

#[test]
fn from_the_moment_a_pools_scope_is_changed() {
    let by_pool = from_pool("p");
    // Written out after nearly every batch, or never.
    for journal_entries in [1, 100_000] {
        let mut scene = Scene::in_queues();
        scene.world = World::with(Config { journal_entries, ..Config::default() });
        let queues = ["qa", "qb"];
        scene = scene.tenant("a", 3, &["qa"]).tenant("b", 1, &["qb"]).pool("p", &queues, "queue");
        (0..60).for_each(|turn| _ = by_pool(&mut scene.world, turn));
        let equal = BTreeMap::from([("a", 0.5), ("b", 0.5)]);
        let by_weight = BTreeMap::from([("a", 0.75), ("b", 0.25)]);
        assert_eq!(scene.shown(), equal);
        for (scope, expected) in [("pool", &by_weight), ("queue", &equal), ("pool", &by_weight)] {
            scene = scene.pool("p", &queues, scope);
            assert_eq!(scene.shown(), *expected, "{scope}, at once");
            scene.world.crash(10);
            assert_eq!(scene.shown(), *expected, "{scope}, after a restart");
            for turn in 0..12 {
                by_pool(&mut scene.world, turn);
            }
            assert_eq!(scene.shown(), *expected, "{scope}, after some jobs");
            scene.world.crash(10);
            assert_eq!(scene.shown(), *expected, "{scope}, after another restart");
        }
    }
}

#[test]
fn before_anything_was_handed_out() {
    let scene = Scene::in_queues().tenant("a", 3, &["q"]).tenant("b", 1, &["q"]);
    assert_eq!(scene.shown(), BTreeMap::from([("a", 0.75), ("b", 0.25)]));
}

#[test]
fn of_queues_that_nothing_was_handed_out_from() {
    let scene = Scene::in_queues().tenant("a", 3, &["qa"]).tenant("b", 1, &["qb"]);
    let scene = scene.tenant("c", 1, &["qb"]).tenant("idle", 1, &[]);
    let expected = [("a", 0.5), ("b", 0.25), ("c", 0.25), ("idle", 0.0)];
    assert_eq!(scene.shown(), BTreeMap::from(expected));
    assert!(scene.shown()["idle"].is_sign_positive());
}

#[test]
fn in_a_queue_that_a_pool_has_named_before_it_was_there() {
    let mut scene = Scene::in_pools().tenant("a", 1, &["qa"]).pool("p", &["qa", "qb"], "pool");
    (0..8).for_each(|turn| _ = from_pool("p")(&mut scene.world, turn));
    let mut scene = scene.tenant("b", 3, &["qb"]);
    assert_eq!(scene.shown(), BTreeMap::from([("a", 0.25), ("b", 0.75)]));
    assert_eq!(from_pool("p")(&mut scene.world, 0), "b");
}
