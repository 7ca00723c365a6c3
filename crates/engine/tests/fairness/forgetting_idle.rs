//! Queues and tenants that have nothing are forgotten, and what comes later does not inherit from
//! them.

use rota_engine::{Command, Config, QueueSettings, Reply, WaiterId};
use rota_model::{QueueName, Seq, TenantId};
use serde_json::json;

use crate::world::{World, cap_queues, job, name, pool};

const HOUR: u64 = 3_600_000;

fn queue(name: &str) -> QueueName {
    QueueName::parse(name).unwrap()
}

/// Hours pass, with a look every few minutes.
fn hours(world: &mut World, hours: u64) {
    (0..hours * 4).for_each(|_| world.pass(HOUR / 4));
}

/// Jobs that come and go without a trace.
fn pass_through(world: &mut World, tenant: &'static str, queue: &'static str) {
    let sent = world.enqueue(&job(tenant).queue(queue), 1);
    delete(world, &sent);
}

fn delete(world: &mut World, jobs: &[Seq]) {
    let targets = jobs.iter().map(|seq| world.target(*seq)).collect();
    let reply = world.apply(Command::Delete(targets));
    assert!(matches!(reply, Reply::Changed(_)), "{reply:?}");
}

#[test]
fn a_queue_and_a_tenant_without_anything_are_forgotten() {
    let mut world = World::new();
    pass_through(&mut world, "a", "q");
    hours(&mut world, 1);
    assert!(world.engine.queue("q").is_some(), "not at once");
    hours(&mut world, 3);
    assert!(world.engine.queue("q").is_none());
    assert!(world.engine.knows_tenant("a"), "its figures of the last day are shown");
    hours(&mut world, 26);
    assert!(!world.engine.knows_tenant("a"));
    world.crash(0);
    assert_eq!((world.engine.queue_count(), world.engine.knows_tenant("a")), (0, false));
}

#[test]
fn a_queue_that_was_asked_for_is_kept() {
    let mut world = World::new();
    world.apply(Command::CreateQueue(queue("q"), QueueSettings::default()));
    hours(&mut world, 5);
    assert!(world.engine.queue("q").is_some());
    world.crash(0);
    hours(&mut world, 5);
    assert!(world.engine.queue("q").is_some());
    world.apply(Command::DeleteQueue(queue("q")));
    assert!(world.engine.queue("q").is_none());
}

#[test]
fn a_deleted_tenant_leaves_nothing_to_be_written_out() {
    let mut world = World::new();
    let sent = world.enqueue(&job("gone").queue("q"), 1);
    delete(&mut world, &sent);
    (0..5).for_each(|_| world.pass(60_000));
    world.apply(Command::DeleteQueue(queue("q")));
    let gone = TenantId::parse("gone").unwrap();
    let reply = world.apply(Command::DeleteTenant(gone, None));
    assert!(matches!(reply, Reply::Tenant { .. }), "{reply:?}");
    hours(&mut world, 4);
    assert!(!world.engine.knows_tenant("gone"));
    // The journal goes on without it.
    world.enqueue(&job("other"), 1);
    assert_eq!(world.fetch(1).len(), 1);
}

#[test]
fn what_has_something_is_remembered() {
    let mut world = World::new();
    let settings = QueueSettings { concurrency: Some(3), ..QueueSettings::default() };
    world.apply(Command::ConfigureQueue(queue("configured"), settings));
    world.apply(Command::PauseQueue(queue("paused")));
    let tenant = TenantId::parse("pauser").unwrap();
    world.apply(Command::PauseShard(tenant, queue("paused-in-part")));
    pass_through(&mut world, "a", "limited");
    world.say("queue:limited", json!({"concurrency": 1}), None);
    pass_through(&mut world, "a", "awaited");
    world.enqueue(&job("waits").queue("full"), 1);
    world.enqueue(&job("finished").queue("kept"), 1);
    let done = world.fetch_with(&["kept"], 1, |_| {}).remove(0);
    world.ack(done.seq);
    world.tenant("known", json!({"weight": 2}));
    pass_through(&mut world, "a", "gone");
    for _ in 0..20 {
        world.fetch_with(&["awaited"], 1, |fetch| fetch.wait = Some((WaiterId(1), 2 * HOUR)));
        hours(&mut world, 2);
    }
    let queues: Vec<String> = world
        .engine
        .queues_after("", 0, usize::MAX)
        .iter()
        .map(|queue| queue.name.to_string())
        .collect();
    let expected = ["awaited", "configured", "full", "kept", "limited", "paused", "paused-in-part"];
    assert_eq!(queues, expected);
    let known = ["pauser", "waits", "finished", "known"].map(|id| world.engine.knows_tenant(id));
    assert_eq!(known, [true; 4]);
    // What made the queues be remembered ends.
    world.apply(Command::ResumeQueue(queue("paused")));
    world.apply(Command::ConfigureQueue(queue("configured"), QueueSettings::default()));
    hours(&mut world, 4);
    assert!(world.engine.queue("paused").is_none() && world.engine.queue("configured").is_none());
}

#[test]
fn whoever_comes_later_inherits_nothing() {
    let config = Config { caps: cap_queues(3), ..Config::default() };
    let mut world = World::with(config);
    world.put_pool("p", json!({"queues": ["q0", "q1", "q2", "other"], "strategy": "weighted"}));
    for round in 0..6u32 {
        let names = [0, 1, 2].map(|n| name(format!("q{}", (n + round) % 4)));
        let tenant = name(format!("t{round}"));
        for queue in names {
            let sent = world.enqueue(&job(tenant).queue(queue).priority(round as i16), 3);
            let of_pool = |fetch: &mut rota_engine::Fetch| fetch.pool = pool("p");
            world.fetch_with(&[], 1, of_pool);
            world.fetch_with(&names, 1, |_| {});
            for seq in &sent {
                if world.engine.active_job(*seq).is_some() {
                    world.nack(*seq, None);
                }
            }
            let tenant = TenantId::parse(tenant).unwrap();
            world.apply(Command::PauseShard(tenant.clone(), QueueName::parse(queue).unwrap()));
            world.apply(Command::ResumeShard(tenant, QueueName::parse(queue).unwrap()));
            delete(&mut world, &sent);
        }
        if round == 3 {
            world.crash(0);
        }
        hours(&mut world, 30);
        assert_eq!(world.engine.queue_count(), 0, "round {round}");
        assert!(!world.engine.knows_tenant(name(format!("t{round}"))), "round {round}");
    }
    // Two new tenants share a new queue as if there had never been others.
    world.enqueue(&job("x").queue("q9"), 10);
    world.enqueue(&job("y").queue("q9"), 10);
    let mut served = Vec::new();
    while let Some((tenant, _)) = world.next(&["q9"], |_| {}) {
        served.push(tenant);
    }
    assert_eq!(served.chunks(2).filter(|pair| pair[0] != pair[1]).count(), 10, "{served:?}");
}

#[test]
fn a_pool_goes_on_without_a_forgotten_queue_and_takes_it_back() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["q", "r"], "strategy": "weighted", "weights": {"r": 3}}));
    pass_through(&mut world, "a", "q");
    world.enqueue(&job("a").queue("r"), 40);
    let of_pool = |fetch: &mut rota_engine::Fetch| fetch.pool = pool("p");
    world.next(&[], of_pool);
    hours(&mut world, 4);
    assert!(world.engine.queue("q").is_none());
    // Another queue gets the number of the forgotten one.
    world.enqueue(&job("a").queue("z"), 5);
    for _ in 0..5 {
        assert_eq!(world.next(&[], of_pool).unwrap().1, "r");
    }
    world.enqueue(&job("a").queue("q"), 8);
    let served: Vec<String> = (0..16).map(|_| world.next(&[], of_pool).unwrap().1).collect();
    let of_q = served.iter().filter(|queue| *queue == "q").count();
    assert!((3..=5).contains(&of_q), "{served:?}");
}
