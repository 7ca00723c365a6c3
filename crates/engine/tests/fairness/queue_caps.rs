//! How many queues and classes a tenant may have.

use rota_engine::{Cap, CapReached, Capped, Caps, Command, Config, Refusal, Reply};
use rota_model::{QueueName, TenantId};
use serde_json::json;

use crate::world::{Job, World, job, name};

fn in_queue(tenant: &'static str, n: usize) -> Job {
    job(tenant).queue(name(format!("{tenant}-{n}")))
}

fn world(caps: Caps) -> World {
    World::with(Config { caps, ..Config::default() })
}

fn refusal(reply: Reply) -> CapReached {
    match reply {
        Reply::Refused(Refusal::CapReached(reached)) => reached,
        other => panic!("{other:?}"),
    }
}

/// What is refused to whom: so many more beside its own, and those of all.
fn assert_full(reply: Reply, capped: Capped, who: &str, more: usize, (own, all): (usize, usize)) {
    let reached = refusal(reply);
    assert_eq!(reached.tenant.as_deref(), Some(who), "{reached:?}");
    let counted = (reached.capped, reached.more, reached.own, reached.all);
    assert_eq!(counted, (capped, more, own, all), "{reached:?}");
}

fn delete(world: &mut World, queue: &str) {
    let reply = world.apply(Command::DeleteQueue(QueueName::parse(queue).unwrap()));
    assert!(matches!(reply, Reply::Queue(_)), "{reply:?}");
}

#[test]
fn a_tenant_makes_so_many_queues_and_others_go_on() {
    let queues = Cap { total: 20, per_tenant: 3 };
    let mut world = world(Caps { queues, ..Caps::default() });
    let a = TenantId::parse("a").unwrap();
    for n in 0..3 {
        world.enqueue(&in_queue("a", n), 1);
    }
    let full = |reply: Reply, all| assert_full(reply, Capped::Queues, "a", 1, (3, all));
    full(world.try_enqueue(&[in_queue("a", 3)], 0), 3);
    let paused = Command::PauseShard(a.clone(), QueueName::parse("new").unwrap());
    full(world.apply(paused), 3);
    world.enqueue(&in_queue("a", 0), 1);
    world.enqueue(&in_queue("b", 0), 1);
    world.enqueue(&job("a").queue("b-0"), 1);
    world.crash(0);
    full(world.try_enqueue(&[in_queue("a", 3)], 0), 4);
    // Whatever counts can be removed.
    let last = world.fetch_with(&["a-2"], 1, |_| {}).remove(0);
    world.ack(last.seq);
    delete(&mut world, "a-2");
    world.enqueue(&in_queue("a", 3), 1);
    let batch = [in_queue("c", 0), in_queue("c", 1), in_queue("c", 2), in_queue("c", 3)];
    assert_full(world.try_enqueue(&batch, 0), Capped::Queues, "c", 4, (0, 4));
    assert!(world.engine.queue("c-0").is_none(), "all or none");
}

#[test]
fn invented_tenants_leave_the_last_twentieth_to_configured_ones_and_operators() {
    let mut world = world(Caps { queues: Cap { total: 40, per_tenant: 100 }, ..Caps::default() });
    world.tenant("known", json!({"weight": 2}));
    world.enqueue(&in_queue("known", 0), 1);
    for n in 0..35 {
        world.enqueue(&in_queue("greedy", n), 1);
    }
    let full = |reply: Reply, who: &str, used| assert_full(reply, Capped::Queues, who, 1, used);
    full(world.try_enqueue(&[in_queue("greedy", 35)], 0), "greedy", (35, 36));
    world.enqueue(&in_queue("newcomer", 0), 1);
    full(world.try_enqueue(&[in_queue("newcomer", 1)], 0), "newcomer", (1, 37));
    world.enqueue(&in_queue("another", 0), 1);
    full(world.try_enqueue(&[in_queue("third", 0)], 0), "third", (0, 38));
    world.enqueue(&in_queue("known", 1), 1);
    let reply = world.apply(Command::PauseQueue(QueueName::parse("operators").unwrap()));
    assert!(matches!(reply, Reply::Queue(_)), "{reply:?}");
    full(world.try_enqueue(&[in_queue("known", 2)], 0), "known", (2, 40));
    let reply = world.apply(Command::PauseQueue(QueueName::parse("one-more").unwrap()));
    assert_eq!(refusal(reply).tenant, None);
    world.crash(0);
    full(world.try_enqueue(&[in_queue("greedy", 35)], 0), "greedy", (35, 40));
}

#[test]
fn invented_tenants_leave_classes_to_configured_ones() {
    let classes = Cap { total: 40, per_tenant: 100 };
    let mut world = world(Caps { classes, ..Caps::default() });
    world.tenant("known", json!({"weight": 2}));
    let mut number = 0;
    let reply = loop {
        let reply = world.try_enqueue(&[job(name(format!("t{number}")))], 0);
        match reply {
            Reply::Enqueued(_) => number += 1,
            refused => break refused,
        }
    };
    assert_eq!(number, 38);
    assert_full(reply, Capped::Classes, "t38", 1, (0, 38));
    world.enqueue(&job("t0"), 5);
    world.enqueue(&job("known"), 1);
    // A job that ends leaves its place to the next tenant.
    let first = world.fetch(3);
    first.iter().for_each(|job| world.ack(job.seq));
    world.enqueue(&job("t38"), 1);
}

#[test]
fn classes_per_tenant_are_bounded_while_they_have_jobs() {
    let classes = Cap { total: 1_000, per_tenant: 3 };
    let mut world = world(Caps { classes, ..Caps::default() });
    let kind = |tenant, n: usize| job(tenant).kind(name(format!("kind-{n}")));
    for n in 0..3 {
        world.enqueue(&kind("a", n), 2);
    }
    assert_full(world.try_enqueue(&[kind("a", 3)], 0), Capped::Classes, "a", 1, (3, 3));
    world.enqueue(&kind("a", 0), 1);
    world.enqueue(&kind("b", 3), 1);
    world.crash(0);
    assert_full(world.try_enqueue(&[kind("a", 3)], 0), Capped::Classes, "a", 1, (3, 4));
    while let Some(job) = world.fetch(1).pop() {
        world.ack(job.seq);
    }
    // Classes of finished jobs that are kept may be ten times as many.
    for n in 3..30 {
        world.enqueue(&kind("a", n), 1);
        let job = world.fetch(1).remove(0);
        world.ack(job.seq);
    }
    assert_full(world.try_enqueue(&[kind("a", 30)], 0), Capped::KeptClasses, "a", 1, (30, 31));
    world.enqueue(&kind("a", 29), 1);
}
