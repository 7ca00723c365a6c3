//! How many queues and classes a tenant may have.

use rota_engine::{Command, Config, Refusal, Reply};
use rota_model::{QueueName, TenantId};
use serde_json::json;

use crate::world::{Job, World, job, name};

fn in_queue(tenant: &'static str, n: usize) -> Job {
    job(tenant).queue(name(format!("{tenant}-{n}")))
}

fn refusal(reply: Reply) -> Refusal {
    match reply {
        Reply::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

fn delete(world: &mut World, queue: &str) {
    let reply = world.apply(Command::DeleteQueue(QueueName::parse(queue).unwrap()));
    assert!(matches!(reply, Reply::Queue(_)), "{reply:?}");
}

#[test]
fn a_tenant_makes_so_many_queues_and_others_go_on() {
    let config = Config { max_queues: 20, max_queues_per_tenant: 3, ..Config::default() };
    let mut world = World::with(config);
    let a = TenantId::parse("a").unwrap();
    for n in 0..3 {
        world.enqueue(&in_queue("a", n), 1);
    }
    let full = || Refusal::TenantQueues { tenant: a.clone(), current: 3, maximum: 3 };
    assert_eq!(refusal(world.try_enqueue(&[in_queue("a", 3)], 0)), full());
    let paused = Command::PauseShard(a.clone(), QueueName::parse("new").unwrap());
    assert_eq!(refusal(world.apply(paused)), full());
    world.enqueue(&in_queue("a", 0), 1);
    world.enqueue(&in_queue("b", 0), 1);
    world.enqueue(&job("a").queue("b-0"), 1);
    world.crash(0);
    assert_eq!(refusal(world.try_enqueue(&[in_queue("a", 3)], 0)), full());
    // Whatever counts can be removed.
    let last = world.fetch_with(&["a-2"], 1, |_| {}).remove(0);
    world.ack(last.seq);
    delete(&mut world, "a-2");
    world.enqueue(&in_queue("a", 3), 1);
    let batch = [in_queue("c", 0), in_queue("c", 1), in_queue("c", 2), in_queue("c", 3)];
    let c = TenantId::parse("c").unwrap();
    let whole = Refusal::TenantQueues { tenant: c, current: 3, maximum: 3 };
    assert_eq!(refusal(world.try_enqueue(&batch, 0)), whole);
    assert!(world.engine.queue("c-0").is_none(), "all or none");
}

#[test]
fn the_last_tenth_is_for_tenants_without_queues_and_configured_ones() {
    let config = Config { max_queues: 20, ..Config::default() };
    let mut world = World::with(config);
    world.tenant("known", json!({"weight": 2}));
    world.enqueue(&in_queue("known", 0), 1);
    for n in 0..17 {
        world.enqueue(&in_queue("greedy", n), 1);
    }
    let tenant = TenantId::parse("greedy").unwrap();
    let reserved = Refusal::QueuesReserved { tenant, current: 17, used: 18, limit: 20 };
    assert_eq!(refusal(world.try_enqueue(&[in_queue("greedy", 17)], 0)), reserved);
    world.enqueue(&in_queue("newcomer", 0), 1);
    let more = refusal(world.try_enqueue(&[in_queue("newcomer", 1)], 0));
    assert!(matches!(more, Refusal::QueuesReserved { current: 1, used: 19, .. }), "{more:?}");
    world.enqueue(&in_queue("known", 1), 1);
    for tenant in ["known", "late"] {
        let full = refusal(world.try_enqueue(&[in_queue(tenant, 2)], 0));
        assert_eq!(full, Refusal::TooManyQueues { limit: 20 });
    }
}

#[test]
fn classes_per_tenant_are_bounded_while_they_have_jobs() {
    let mut world = World::with(Config { max_classes_per_tenant: 3, ..Config::default() });
    let kind = |tenant, n: usize| job(tenant).kind(name(format!("kind-{n}")));
    for n in 0..3 {
        world.enqueue(&kind("a", n), 2);
    }
    let tenant = || TenantId::parse("a").unwrap();
    let full = Refusal::TenantClasses { tenant: tenant(), current: 3, maximum: 3, kept: false };
    assert_eq!(refusal(world.try_enqueue(&[kind("a", 3)], 0)), full);
    world.enqueue(&kind("a", 0), 1);
    world.enqueue(&kind("b", 3), 1);
    world.crash(0);
    assert_eq!(refusal(world.try_enqueue(&[kind("a", 3)], 0)), full);
    while let Some(job) = world.fetch(1).pop() {
        world.ack(job.seq);
    }
    // Classes of finished jobs that are kept may be ten times as many.
    for n in 3..30 {
        world.enqueue(&kind("a", n), 1);
        let job = world.fetch(1).remove(0);
        world.ack(job.seq);
    }
    let full = Refusal::TenantClasses { tenant: tenant(), current: 30, maximum: 30, kept: true };
    assert_eq!(refusal(world.try_enqueue(&[kind("a", 30)], 0)), full);
    world.enqueue(&kind("a", 29), 1);
}
