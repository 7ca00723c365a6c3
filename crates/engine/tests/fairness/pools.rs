use crate::world::{World, count, job};
use rota_engine::{Command, EventKind, Preference, Refusal, Reply};
use rota_model::{PoolConfig, PoolName, QueueName, QueueStrategy, Weight, WorkerId};
use serde_json::{Value, json};

fn put(world: &mut World, name: &str, pool: Value) {
    let config = PoolConfig::parse(pool.as_object().unwrap()).unwrap();
    let reply = world.apply(Command::PutPool(PoolName::parse(name).unwrap(), config.into()));
    assert!(matches!(reply, Reply::Pool { .. }), "{reply:?}");
}

fn three_queues(world: &mut World) {
    for queue in ["a", "b", "c"] {
        world.enqueue(&job("t").queue(queue), 200);
    }
}

fn by(strategy: QueueStrategy, weights: &[(&str, f64)]) -> Option<Preference> {
    let weight =
        |(name, w): &(&str, f64)| (QueueName::parse(name).unwrap(), Weight::new(*w).unwrap());
    Some(Preference { strategy, weights: weights.iter().map(weight).collect() })
}

#[test]
fn strategies_decide_which_queue_is_next() {
    let mut world = World::new();
    three_queues(&mut world);
    let all = ["a", "b", "c"];
    assert_eq!(world.by_strategy(&all, None, 3), ["a"; 3]);
    let served = world.by_strategy(&all, by(QueueStrategy::RoundRobin, &[]), 6);
    assert_eq!(served, ["a", "b", "c", "a", "b", "c"]);
    let weights = by(QueueStrategy::Weighted, &[("a", 5.0), ("b", 2.0), ("c", 1.0)]);
    let served = world.by_strategy(&all, weights, 80);
    assert_eq!((count(&served, "a"), count(&served, "b"), count(&served, "c")), (50, 20, 10));
    assert_eq!(world.by_strategy(&all, by(QueueStrategy::LeastLoaded, &[]), 1), ["c"]);
}

#[test]
fn a_pool_has_its_queues_and_its_bound_over_all_workers() {
    let mut world = World::new();
    three_queues(&mut world);
    put(&mut world, "p", json!({"queues": ["a", "b"], "concurrency": 3}));
    let pool = PoolName::parse("p").unwrap();
    let fetch = |world: &mut World, worker: &str, queues: &[&str]| {
        let worker = WorkerId::parse(worker).unwrap();
        let name = pool.clone();
        world.fetch_with(queues, 2, |f| (f.worker, f.pool) = (Some(worker), Some(name)))
    };
    let first = fetch(&mut world, "w1", &[]);
    assert_eq!(first.len(), 2);
    assert_eq!(fetch(&mut world, "w2", &["a"]).len(), 1);
    assert!(fetch(&mut world, "w2", &[]).is_empty());
    assert!(world.has_event(|e| matches!(e, EventKind::PoolOverloaded { active: 3, .. })));
    world.ack(first[0].seq);
    assert_eq!(fetch(&mut world, "w1", &[]).len(), 1);
    let view = world.engine.pool(&pool).unwrap();
    assert_eq!((view.active_jobs, view.active_workers), (3, 2));
}

#[test]
fn isolation_shuts_everyone_else_out() {
    let mut world = World::new();
    three_queues(&mut world);
    put(&mut world, "p", json!({"queues": ["a"], "isolated": true}));
    assert_eq!(world.by_strategy(&["a", "b"], None, 2), ["b"; 2]);
    let pool = PoolName::parse("p").unwrap();
    assert_eq!(world.fetch_with(&["a"], 1, |f| f.pool = Some(pool.clone())).len(), 1);
    let strange = rota_engine::Fetch {
        queues: vec![QueueName::parse("b").unwrap()],
        count: 1,
        worker: None,
        pool: Some(pool),
        tenant: None,
        preference: None,
        visibility_ms: None,
        wait: None,
    };
    let reply = world.apply(Command::Fetch(strange.clone()));
    assert!(matches!(reply, Reply::Refused(Refusal::NotInPool { .. })), "{reply:?}");
    let unknown = rota_engine::Fetch { pool: Some(PoolName::parse("x").unwrap()), ..strange };
    assert!(matches!(world.apply(Command::Fetch(unknown)), Reply::Refused(Refusal::UnknownPool)));
}

#[test]
fn a_low_queue_gets_its_guaranteed_part() {
    let mut world = World::new();
    three_queues(&mut world);
    let rule = json!({"enabled": true, "min_dispatch_ratio": 0.1});
    put(
        &mut world,
        "p",
        json!({"queues": ["a", "b", "c"], "strategy": "strict", "starvation_prevention": rule}),
    );
    let pool = PoolName::parse("p").unwrap();
    let mut served = Vec::new();
    for _ in 0..100 {
        let claimed = world.fetch_with(&[], 1, |f| f.pool = Some(pool.clone())).remove(0);
        served.push(world.engine.active_job(claimed.seq).unwrap().class);
        world.ack(claimed.seq);
    }
    let lowest = served.iter().filter(|class| class.0 == 2).count();
    assert!((9..=11).contains(&lowest), "{lowest}");
}

#[test]
fn a_pool_that_is_made_again_counts_what_still_runs_in_it() {
    let mut world = World::new();
    three_queues(&mut world);
    let narrow = json!({"queues": ["a"], "concurrency": 3});
    put(&mut world, "p", narrow.clone());
    let pool = PoolName::parse("p").unwrap();
    let worker = WorkerId::parse("w").unwrap();
    let fetch = |world: &mut World, count: usize| {
        let own = (Some(worker.clone()), Some(pool.clone()));
        world.fetch_with(&["a"], count, |f| (f.worker, f.pool) = own)
    };
    let running = fetch(&mut world, 2);
    assert_eq!(running.len(), 2);
    assert!(matches!(world.apply(Command::RemovePool(pool.clone())), Reply::Pool { .. }));
    world.pass(1_000);
    put(&mut world, "p", narrow);
    assert_eq!(world.engine.pool(&pool).unwrap().active_jobs, 2);
    assert_eq!(fetch(&mut world, 10).len(), 1, "two of three places are taken");
    world.ack(running[0].seq);
    assert_eq!(fetch(&mut world, 10).len(), 1);
    world.crash(10);
    assert!(fetch(&mut world, 10).is_empty(), "a restart counts the same");
    world.ack(running[1].seq);
    assert_eq!(fetch(&mut world, 10).len(), 1);
}
