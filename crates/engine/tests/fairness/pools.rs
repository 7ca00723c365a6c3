use crate::world::{World, count, job, pool};
use rota_engine::{Command, Config, EventKind, Preference, Refusal, Registration, Reply, WaiterId};
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
    let view = world.engine.pool(None, &pool).unwrap();
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
        pool: Some(pool),
        ..rota_engine::Fetch::of(vec![QueueName::parse("b").unwrap()], 1)
    };
    let reply = world.apply(Command::Fetch(strange.clone()));
    assert!(matches!(reply, Reply::Refused(Refusal::NotInPool { .. })), "{reply:?}");
    let unknown = rota_engine::Fetch { pool: Some(PoolName::parse("x").unwrap()), ..strange };
    assert!(matches!(
        world.apply(Command::Fetch(unknown)),
        Reply::Refused(Refusal::UnknownPool { .. })
    ));
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
fn a_starved_queue_is_served_after_the_rotation_interval() {
    let mut world = World::new();
    three_queues(&mut world);
    let rule = json!({"enabled": true, "rotation_interval": "PT30S", "min_dispatch_ratio": 0.0});
    let pool = json!({"queues": ["a", "b"], "strategy": "strict", "starvation_prevention": rule});
    put(&mut world, "p", pool);
    let pool = PoolName::parse("p").unwrap();
    let mut served = Vec::new();
    for _ in 0..35 {
        world.pass(1_000);
        let claimed = world.fetch_with(&[], 1, |f| f.pool = Some(pool.clone())).remove(0);
        served.push(world.queue_of(claimed.seq));
        world.ack(claimed.seq);
    }
    let turn = served.iter().position(|queue| queue == "b");
    assert!(turn.is_some_and(|turn| (28..=31).contains(&turn)), "{served:?}");
    assert_eq!(count(&served, "b"), 1, "{served:?}");
}

#[test]
fn no_restart_takes_a_queues_guaranteed_part_away() {
    let mut world = World::new();
    three_queues(&mut world);
    let rule = json!({"enabled": true, "min_dispatch_ratio": 0.1});
    let pool = json!({"queues": ["a", "b", "c"], "starvation_prevention": rule});
    put(&mut world, "p", pool);
    let pool = PoolName::parse("p").unwrap();
    let mut lowest = 0;
    for _ in 0..9 {
        for _ in 0..9 {
            let claimed = world.fetch_with(&[], 1, |f| f.pool = Some(pool.clone())).remove(0);
            lowest += u64::from(world.engine.active_job(claimed.seq).unwrap().class.0 == 2);
            world.ack(claimed.seq);
        }
        world.crash(10);
    }
    assert!(lowest >= 7, "{lowest} of 81");
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
    assert_eq!(world.engine.pool(None, &pool).unwrap().active_jobs, 2);
    assert_eq!(fetch(&mut world, 10).len(), 1, "two of three places are taken");
    world.ack(running[0].seq);
    assert_eq!(fetch(&mut world, 10).len(), 1);
    world.crash(10);
    assert!(fetch(&mut world, 10).is_empty(), "a restart counts the same");
    world.ack(running[1].seq);
    assert_eq!(fetch(&mut world, 10).len(), 1);
}

#[test]
fn a_restart_counts_a_pools_jobs_whoever_holds_them() {
    let mut world = World::new();
    three_queues(&mut world);
    put(&mut world, "p", json!({"queues": ["a"], "concurrency": 3}));
    let pool = PoolName::parse("p").unwrap();
    let fetch = |world: &mut World, worker: Option<&str>, count: usize| {
        let worker = worker.map(|name| WorkerId::parse(name).unwrap());
        world.fetch_with(&["a"], count, |f| (f.worker, f.pool) = (worker, Some(pool.clone())))
    };
    let nameless = fetch(&mut world, None, 2);
    assert_eq!(nameless.len(), 2);
    let left = fetch(&mut world, Some("w"), 1);
    assert_eq!(left.len(), 1);
    let deregister = Command::Deregister(WorkerId::parse("w").unwrap(), None);
    assert!(matches!(world.apply(deregister), Reply::Done));
    for seq in [nameless[0].seq, left[0].seq] {
        world.crash(10);
        assert_eq!(world.engine.pool(None, &pool).unwrap().active_jobs, 3);
        assert_eq!(world.engine.active_job(seq).unwrap().pool.as_ref(), Some(&pool));
        assert!(fetch(&mut world, None, 10).is_empty(), "the pool is full");
        assert!(fetch(&mut world, Some("w2"), 10).is_empty(), "for everybody");
        world.ack(seq);
        assert_eq!(fetch(&mut world, None, 10).len(), 1, "there is room for one");
    }
}

#[test]
fn a_restart_counts_no_job_for_a_pool_that_its_worker_joined_later() {
    let mut world = World::new();
    three_queues(&mut world);
    put(&mut world, "p", json!({"queues": ["a"], "concurrency": 1}));
    let pool = PoolName::parse("p").unwrap();
    let worker = WorkerId::parse("w").unwrap();
    assert_eq!(world.fetch_with(&["b"], 1, |f| f.worker = Some(worker.clone())).len(), 1);
    join(&mut world, "w", 10);
    world.crash(10);
    assert_eq!(world.engine.pool(None, &pool).unwrap().active_jobs, 0);
    assert_eq!(take(&mut world, "w", 10).len(), 1);
}

fn overloads(world: &mut World) -> Vec<(u64, u64)> {
    let events = std::mem::take(&mut world.events).into_iter();
    let of_pool = events.filter_map(|e| match e {
        EventKind::PoolOverloaded { active, waiting, .. } => Some((active, waiting)),
        _ => None,
    });
    of_pool.collect()
}

/// A worker of the pool `p`, for which so many jobs at once are enough.
fn join(world: &mut World, worker: &str, concurrency: u32) {
    let about = Registration {
        pool: Some(PoolName::parse("p").unwrap()),
        concurrency: Some(concurrency),
        ..Registration::named(WorkerId::parse(worker).unwrap())
    };
    assert!(matches!(world.apply(Command::Register(about.into())), Reply::Done));
}

fn take(world: &mut World, worker: &str, count: usize) -> Vec<rota_model::Seq> {
    let worker = WorkerId::parse(worker).unwrap();
    let claimed = world.fetch_with(&[], count, |f| f.worker = Some(worker));
    claimed.iter().map(|job| job.seq).collect()
}

#[test]
fn a_pool_is_overloaded_when_each_of_its_workers_has_enough_to_do() {
    let mut world = World::new();
    put(&mut world, "p", json!({"queues": ["a", "b"]}));
    join(&mut world, "w1", 1);
    join(&mut world, "w2", 2);
    world.enqueue(&job("t").queue("a"), 10);
    let first = take(&mut world, "w1", 5);
    take(&mut world, "w2", 1);
    assert_eq!(overloads(&mut world), [], "one of them has room");
    take(&mut world, "w2", 1);
    assert_eq!(overloads(&mut world), [(3, 7)]);
    take(&mut world, "w1", 1);
    world.ack(first[0]);
    let second = take(&mut world, "w1", 1);
    assert_eq!(overloads(&mut world), [], "there was room for a moment only");
    join(&mut world, "w3", 10);
    let rest = take(&mut world, "w3", 10);
    assert!(take(&mut world, "w3", 10).is_empty());
    [&second[..], &rest[..]].concat().into_iter().for_each(|seq| world.ack(seq));
    world.apply(Command::Deregister(WorkerId::parse("w3").unwrap(), None));
    world.enqueue(&job("t").queue("b"), 1);
    take(&mut world, "w1", 1);
    assert_eq!(overloads(&mut world), [], "nothing waits");
    world.enqueue(&job("t").queue("c"), 1);
    assert_eq!(overloads(&mut world), [], "that is not its queue");
    world.enqueue(&job("t").queue("b"), 4);
    assert_eq!(overloads(&mut world), [(3, 4)]);
}

#[test]
fn workers_are_counted_anew_after_a_restart_and_not_while_they_are_quiet() {
    let mut world = World::new();
    put(&mut world, "p", json!({"queues": ["a"]}));
    join(&mut world, "w1", 1);
    join(&mut world, "w2", 2);
    take(&mut world, "w1", 1);
    world.enqueue(&job("t").queue("a"), 2);
    take(&mut world, "w2", 2);
    world.crash(10);
    world.enqueue(&job("t").queue("a"), 2);
    assert_eq!(take(&mut world, "w1", 1).len(), 1);
    assert_eq!(overloads(&mut world), [(3, 1)]);

    let mut world = World::new();
    put(&mut world, "p", json!({"queues": ["a"]}));
    join(&mut world, "w1", 1);
    join(&mut world, "w2", 2);
    world.enqueue(&job("t").queue("a"), 2);
    let quiet = Command::Direct(WorkerId::parse("w2").unwrap(), rota_model::Directive::Quiet);
    world.apply(quiet);
    take(&mut world, "w1", 1);
    assert_eq!(overloads(&mut world), [(1, 1)]);
}

#[test]
fn the_end_of_words_about_a_pool_may_rebalance_it() {
    let file = json!({"queues": ["a", "b"], "strategy": "strict"});
    let file = PoolConfig::parse(file.as_object().unwrap()).unwrap();
    let name = PoolName::parse("p").unwrap();
    let mut config = Config::default();
    config.pools.insert(name.clone(), file);
    let mut world = World::with(config);
    put(&mut world, "p", json!({"queues": ["a", "b"], "strategy": "round-robin"}));
    put(&mut world, "q", json!({"queues": ["a"]}));
    world.events.clear();
    world.apply(Command::RemovePool(PoolName::parse("q").unwrap()));
    assert!(!world.has_event(|e| matches!(e, EventKind::PoolRebalanced { .. })), "it is gone");
    world.apply(Command::RemovePool(name));
    let (old, new) = (Some(QueueStrategy::RoundRobin), QueueStrategy::Strict);
    let back = |e: &EventKind| match e {
        EventKind::PoolRebalanced { previous, new: is, .. } => (*previous, *is) == (old, new),
        _ => false,
    };
    assert!(world.has_event(back));
}

#[test]
fn a_fetch_that_is_refused_puts_its_worker_in_no_pool() {
    let mut world = World::new();
    three_queues(&mut world);
    put(&mut world, "p", json!({"queues": ["a"], "isolated": true}));
    let (pool, worker) = (PoolName::parse("p").unwrap(), WorkerId::parse("w").unwrap());
    let ask = |queue: &str, pool: Option<PoolName>| rota_engine::Fetch {
        worker: Some(worker.clone()),
        pool,
        ..rota_engine::Fetch::of(vec![QueueName::parse(queue).unwrap()], 1)
    };
    let reply = world.apply(Command::Fetch(ask("b", Some(pool.clone()))));
    assert!(matches!(reply, Reply::Refused(Refusal::NotInPool { .. })), "{reply:?}");
    let reply = world.apply(Command::Fetch(ask("a", None)));
    assert!(matches!(&reply, Reply::Fetched(none) if none.is_empty()), "{reply:?}");
    let reply = world.apply(Command::Fetch(ask("a", Some(pool))));
    assert!(matches!(&reply, Reply::Fetched(one) if one.len() == 1), "{reply:?}");
}

#[test]
fn a_fetch_that_waits_for_a_queue_which_its_pool_loses_is_refused() {
    for scope in ["queue", "pool"] {
        let mut world = World::new();
        let queues = |queues: serde_json::Value| json!({"queues": queues, "fairness_scope": scope});
        world.put_pool("p", queues(json!(["kept", "lost"])));
        let wait = Some((WaiterId(1), 60_000));
        world.fetch_with(&["lost"], 1, |fetch| (fetch.pool, fetch.wait) = (pool("p"), wait));
        world.put_pool("p", queues(json!(["kept"])));
        let [(WaiterId(1), reply)] = &world.woken[..] else { panic!("{scope}: {:?}", world.woken) };
        assert!(matches!(reply, Reply::Refused(Refusal::NotInPool { .. })), "{scope}: {reply:?}");
        world.enqueue(&job("t").queue("lost"), 1);
        world.put_pool("p", queues(json!(["kept", "lost"])));
        assert_eq!(world.woken.len(), 1, "{scope}");
    }
}
