//! The share that is shown is the share that dispatching gives, whatever accounts are in use.

use std::collections::BTreeMap;

use crate::world::{World, concurrency, count, job, pool};
use rota_engine::{Command, Config, Fetch, Preference, QueueSettings};
use rota_model::{FairnessScope, PoolName, QueueName, QueueStrategy, Seq, TenantId};
use serde_json::json;

/// Dispatches on shared workers that are compared with what was shown before them.
const RUN: usize = 480;
/// How far a tenant may be from its share: a round of each account that is in use.
const SLACK: f64 = 6.0;

/// Some tenants with their jobs, and how jobs are fetched.
struct Scene {
    world: World,
    tenants: BTreeMap<&'static str, f64>,
    turn: usize,
}

impl Scene {
    fn new(scope: FairnessScope) -> Self {
        let mut config = Config::default();
        config.fairness.scope = scope;
        Self { world: World::with(config), tenants: BTreeMap::new(), turn: 0 }
    }

    fn in_queues() -> Self {
        Self::new(FairnessScope::Queue)
    }

    fn in_pools() -> Self {
        Self::new(FairnessScope::Pool)
    }

    /// A tenant that has enough jobs in each of these queues.
    fn tenant(mut self, id: &'static str, weight: u32, queues: &[&'static str]) -> Self {
        self.world.tenant(id, json!({"fairness_weight": weight}));
        for queue in queues {
            self.world.enqueue(&job(id).queue(queue), 2 * RUN);
        }
        self.tenants.insert(id, 0.0);
        self
    }

    /// Whose jobs wait for a key.
    fn at_key(mut self, id: &'static str, weight: u32, most: u32) -> Self {
        self.world.tenant(id, json!({"fairness_weight": weight}));
        self.world.enqueue(&job(id).queue("q").limit(concurrency("k", most)), 2 * RUN);
        self.tenants.insert(id, 0.0);
        self
    }

    fn pool(mut self, name: &str, queues: &[&str], scope: &str) -> Self {
        let pool = json!({"queues": queues, "strategy": "round-robin", "fairness_scope": scope});
        self.world.put_pool(name, pool);
        self
    }

    fn shown(&self) -> BTreeMap<&'static str, f64> {
        let mut shares = self.tenants.clone();
        for (id, shown) in &mut shares {
            *shown = self.world.engine.share(id).unwrap().entitled;
            assert_eq!(*shown, self.world.engine.tenant(id).unwrap().entitled);
        }
        let all: f64 = shares.values().sum();
        assert!(all < 1.0 + 1e-9, "together they are shown {all}");
        shares
    }

    /// What each gets of the next dispatches is what it was shown before them.
    fn holds(
        &mut self,
        expected: &[(&str, f64)],
        mut dispatch: impl FnMut(&mut World, usize) -> String,
    ) {
        let mut run = |scene: &mut Self, times: usize| -> Vec<String> {
            let one = |_| {
                scene.turn += 1;
                dispatch(&mut scene.world, scene.turn)
            };
            (0..times).map(one).collect()
        };
        // Accounts count by the dispatches of the last minute.
        run(self, 48);
        let shown = self.shown();
        let served = run(self, RUN);
        for (id, shown) in &shown {
            let (got, due) = (count(&served, id), shown * RUN as f64);
            assert!((got as f64 - due).abs() <= SLACK, "{id} got {got} and was shown {shown}");
        }
        for (id, part) in expected {
            assert!((shown[id] - part).abs() < 1e-9, "{id} is shown {}", shown[id]);
        }
    }
}

fn round_robin(fetch: &mut Fetch) {
    let strategy = QueueStrategy::RoundRobin;
    fetch.preference = Some(Preference { strategy, weights: Default::default() });
}

/// One job from these queues, started and finished.
fn from(queues: &'static [&'static str]) -> impl Fn(&mut World, usize) -> String {
    |world, _| world.next(queues, round_robin).unwrap().0
}

fn from_pool(name: &'static str) -> impl Fn(&mut World, usize) -> String {
    move |world, _| world.next(&[], |fetch| fetch.pool = pool(name)).unwrap().0
}

fn queue(name: &str) -> QueueName {
    QueueName::parse(name).unwrap()
}

/// Starts a job and leaves it running.
fn start(world: &mut World, queues: &[&str], tenant: &str) -> Seq {
    let own = TenantId::parse(tenant).unwrap();
    world.fetch_with(queues, 1, |fetch| fetch.tenant = Some(own))[0].seq
}

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
fn in_a_queue_that_a_pool_has_named_before_it_was_there() {
    let mut scene = Scene::in_pools().tenant("a", 1, &["qa"]).pool("p", &["qa", "qb"], "pool");
    (0..8).for_each(|turn| _ = from_pool("p")(&mut scene.world, turn));
    let mut scene = scene.tenant("b", 3, &["qb"]);
    assert_eq!(scene.shown(), BTreeMap::from([("a", 0.25), ("b", 0.75)]));
    assert_eq!(from_pool("p")(&mut scene.world, 0), "b");
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
