//! While tenants, queues or limits are paused, full or closed.

use std::collections::BTreeMap;

use rota_engine::{Command, QueueSettings};
use rota_model::{FairnessScope, TenantId};
use serde_json::json;

use super::scene::{Scene, from, queue, round_robin, start};
use crate::world::{concurrency, job};

#[test]
fn while_a_tenant_is_at_its_cap() {
    let scene = Scene::in_queues().tenant("a", 3, &["q"]).tenant("b", 1, &["q"]);
    let mut scene = scene.tenant("full", 9, &["q"]);
    scene.world.tenant("full", json!({"fairness_weight": 9, "max_concurrency": 2}));
    let held = [0, 1].map(|_| start(&mut scene.world, &["q"], "full"));
    scene.holds(&[("a", 0.75), ("b", 0.25), ("full", 0.0)], from(&["q"]));
    scene.world.ack(held[0]);
    scene.holds(&[("full", 9.0 / 13.0)], from(&["q"]));
}

#[test]
fn while_every_tenant_is_at_its_cap() {
    let mut scene = Scene::in_queues().tenant("a", 3, &["q"]).tenant("b", 1, &["q"]);
    for (id, weight) in [("a", 3), ("b", 1)] {
        scene.world.tenant(id, json!({"fairness_weight": weight, "max_concurrency": 1}));
        start(&mut scene.world, &["q"], id);
    }
    assert_eq!(scene.shown(), BTreeMap::from([("a", 0.75), ("b", 0.25)]));
}

#[test]
fn while_a_tenants_part_of_a_queue_is_paused() {
    let scene = Scene::in_pools().tenant("a", 3, &["q1", "q2"]).tenant("b", 1, &["q1", "q2"]);
    let mut scene = scene.tenant("c", 9, &["q1"]);
    let id = TenantId::parse("c").unwrap();
    scene.world.apply(Command::PauseShard(id.clone(), queue("q1")));
    scene.holds(&[("a", 0.75), ("c", 0.0)], from(&["q1", "q2"]));
    scene.world.apply(Command::ResumeShard(id, queue("q1")));
    scene.holds(&[("c", 9.0 / 13.0)], from(&["q1", "q2"]));
}

#[test]
fn while_a_queue_is_paused() {
    let scene = Scene::in_pools().tenant("a", 3, &["q1", "q2"]).tenant("b", 1, &["q2"]);
    let mut scene = scene.tenant("c", 9, &["q1"]);
    scene.world.apply(Command::PauseQueue(queue("q1")));
    scene.holds(&[("a", 0.75), ("b", 0.25), ("c", 0.0)], from(&["q1", "q2"]));
    // What is over for all of them is left out of account.
    scene.world.apply(Command::PauseQueue(queue("q2")));
    let shown = scene.shown();
    assert_eq!((shown["a"], shown["c"]), (3.0 / 13.0, 9.0 / 13.0));
    scene.world.apply(Command::ResumeQueue(queue("q1")));
    scene.holds(&[("a", 0.25), ("b", 0.0), ("c", 0.75)], from(&["q1", "q2"]));
}

#[test]
fn while_a_queue_is_full() {
    let mut scene = Scene::in_queues().tenant("a", 3, &["q"]).tenant("b", 1, &["q"]);
    let settings = QueueSettings { concurrency: Some(1), ..QueueSettings::default() };
    scene.world.apply(Command::ConfigureQueue(queue("q"), settings));
    let mut held = start(&mut scene.world, &["q"], "a");
    // There is a running job whenever somebody looks.
    scene.holds(&[("a", 0.75), ("b", 0.25)], |world, _| {
        world.ack(held);
        held = world.fetch_with(&["q"], 1, |_| {})[0].seq;
        world.owner(held)
    });
}

#[test]
fn while_a_key_is_closed() {
    let scene = Scene::in_queues().tenant("a", 3, &["q"]).tenant("b", 1, &["q"]);
    let mut scene = scene.at_key("x", 5, 1).at_key("y", 2, 1);
    start(&mut scene.world, &["q"], "x");
    scene.holds(&[("a", 0.75), ("b", 0.25), ("x", 0.0), ("y", 0.0)], from(&["q"]));
}

#[test]
fn at_an_open_key_with_fewer_starts_than_tenants() {
    let scene = Scene::in_queues().tenant("a", 3, &["q"]).at_key("x", 1, 1);
    let mut scene = scene.at_key("y", 2, 1).at_key("z", 2, 1);
    scene.holds(&[("a", 0.375), ("x", 0.125), ("y", 0.25)], from(&["q"]));
}

#[test]
fn at_a_key_that_all_wait_for() {
    let mut scene = Scene::in_queues().at_key("a", 10, 1).at_key("b", 5, 1).at_key("c", 1, 1);
    let mut held = start(&mut scene.world, &["q"], "a");
    scene.holds(&[("a", 0.625), ("b", 0.3125), ("c", 0.0625)], |world, _| {
        world.ack(held);
        held = world.fetch_with(&["q"], 1, |_| {})[0].seq;
        world.owner(held)
    });
}

#[test]
fn of_a_tenant_at_its_cap_with_jobs_at_two_priorities() {
    for scope in [FairnessScope::Queue, FairnessScope::Pool] {
        let mut scene = Scene::new(scope).tenant("a", 1, &["q", "r"]).tenant("full", 9, &["q"]);
        scene.world.tenant("full", json!({"fairness_weight": 9, "max_concurrency": 1}));
        scene.world.enqueue(&job("full").queue("q").priority(3), 1);
        scene.world.fetch_with(&["q", "r"], 1, |_| {});
        assert_eq!(scene.shown(), BTreeMap::from([("a", 1.0), ("full", 0.0)]));
    }
}

#[test]
fn of_a_key_that_a_start_in_another_queue_closed() {
    let mut scene = Scene::in_pools().tenant("a", 1, &["q1", "q2"]).tenant("x", 5, &[]);
    for name in ["q1", "q2"] {
        let waits = job("x").queue(name).limit(concurrency("k", 1));
        scene.world.enqueue(&waits, 10);
    }
    scene.world.next(&["q1", "q2"], round_robin).unwrap();
    start(&mut scene.world, &["q2"], "x");
    assert_eq!(scene.shown(), BTreeMap::from([("a", 1.0), ("x", 0.0)]));
}

#[test]
fn of_keys_and_types_that_are_stopped() {
    for key in ["k", "type:t.held"] {
        let mut scene = Scene::in_queues().tenant("a", 3, &["q"]).tenant("x", 1, &[]);
        let held = job("x").queue("q").kind("t.held");
        let held = if key == "k" { held.limit(concurrency("k", 5)) } else { held };
        scene.world.enqueue(&held, 10);
        (0..8).for_each(|turn| _ = from(&["q"])(&mut scene.world, turn));
        assert_eq!(scene.shown(), BTreeMap::from([("a", 0.75), ("x", 0.25)]));
        scene.world.say(key, json!({"concurrency": 0}), Some(100_000));
        assert_eq!(scene.shown(), BTreeMap::from([("a", 1.0), ("x", 0.0)]));
    }
}

#[test]
fn of_a_tenant_whose_only_queue_is_closed() {
    for full in [false, true] {
        let mut scene = Scene::in_queues().tenant("a", 1, &["qa"]).tenant("b", 1, &["qb"]);
        (0..8).for_each(|turn| _ = from(&["qa", "qb"])(&mut scene.world, turn));
        assert_eq!(scene.shown(), BTreeMap::from([("a", 0.5), ("b", 0.5)]));
        match full {
            false => {
                scene.world.apply(Command::PauseQueue(queue("qa")));
            }
            true => {
                let settings = QueueSettings { concurrency: Some(1), ..QueueSettings::default() };
                scene.world.apply(Command::ConfigureQueue(queue("qa"), settings));
                start(&mut scene.world, &["qa"], "a");
            }
        }
        assert_eq!(scene.shown(), BTreeMap::from([("a", 0.0), ("b", 1.0)]));
    }
}
