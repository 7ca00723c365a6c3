//! What all tenants share: no tenant can use it up, and what is given back can be had again.

use rota_engine::{
    Backpressure, Beat, Bounds, Cap, CapReached, Capped, Caps, Command, Config, EventKind, Fetch,
    Overlap, QueueSettings, Refusal, Registration, Reply, WaiterId,
};
use rota_model::{CronName, Directive, QueueName, Seq, TenantId, WorkerId};
use serde_json::json;

use crate::schedules::{MINUTE, put};
use crate::world::{World, job, name};

/// Two of each for a tenant.
fn world() -> World {
    let cap = Cap { total: 20, per_tenant: 2 };
    let caps = Caps {
        workers: cap,
        schedules: cap,
        schedule_runs: cap,
        waiting_fetches: cap,
        waiting_enqueues: cap,
        rate_limits: cap,
        ..Caps::default()
    };
    World::with(Config { caps, ..Config::default() })
}

fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

fn refused(reply: Reply, capped: Capped, who: &str, own: usize) -> CapReached {
    let Reply::Refused(Refusal::CapReached(reached)) = reply else { panic!("{reply:?}") };
    assert_eq!((reached.capped, reached.own), (capped, own));
    assert_eq!(reached.tenant.as_deref(), Some(who));
    reached
}

fn register(world: &mut World, who: Option<&str>, name: &str) -> Reply {
    let id = WorkerId::parse(name).unwrap();
    let about = Registration { tenant: who.map(tenant), ..Registration::named(id) };
    world.apply(Command::Register(about.into()))
}

#[test]
fn workers_of_a_tenant_are_capped() {
    let mut world = world();
    for name in ["a1", "a2", "a1"] {
        assert!(matches!(register(&mut world, Some("a"), name), Reply::Done));
    }
    let reached = refused(register(&mut world, Some("a"), "a3"), Capped::Workers, "a", 2);
    assert!(reached.is_tenants());
    // However a worker is met first.
    let fetch = Fetch {
        worker: Some(WorkerId::parse("a4").unwrap()),
        tenant: Some(tenant("a")),
        ..Fetch::of(vec![QueueName::default_queue()], 1)
    };
    refused(world.apply(Command::Fetch(fetch)), Capped::Workers, "a", 2);
    assert!(matches!(register(&mut world, Some("b"), "b1"), Reply::Done));
    world.crash(10);
    refused(register(&mut world, Some("a"), "a3"), Capped::Workers, "a", 2);
    let gone = Command::Deregister(WorkerId::parse("a1").unwrap(), Some(tenant("a")));
    assert!(matches!(world.apply(gone), Reply::Done));
    assert!(matches!(register(&mut world, Some("a"), "a3"), Reply::Done));
    // Silent workers are forgotten.
    refused(register(&mut world, Some("a"), "a4"), Capped::Workers, "a", 2);
    world.pass(world.config.forget_worker_after_ms + 1_000);
    assert!(matches!(register(&mut world, Some("a"), "a4"), Reply::Done));
}

#[test]
fn the_rest_of_the_total_is_kept_from_invented_tenants() {
    let mut world = world();
    world.tenant("known", json!({"fairness_weight": 2}));
    let mut invented = 0;
    let mut reached = loop {
        let name = format!("t{invented}");
        match register(&mut world, Some(&name), &name) {
            Reply::Done => invented += 1,
            other => break refused(other, Capped::Workers, &name, 0),
        }
    };
    assert_eq!((invented, reached.all, reached.total), (19, 19, 20));
    assert!(!reached.is_tenants());
    reached = refused(register(&mut world, Some("t1"), "one-more"), Capped::Workers, "t1", 1);
    assert_eq!(reached.all, 19);
    assert!(matches!(register(&mut world, Some("known"), "k1"), Reply::Done));
    // Then it is full for everyone.
    for who in [Some("known"), None] {
        let reply = register(&mut world, who, "k2");
        assert!(matches!(reply, Reply::Refused(Refusal::CapReached(_))), "{reply:?}");
    }
    world.apply(Command::Deregister(WorkerId::parse("t1").unwrap(), None));
    assert!(matches!(register(&mut world, None, "operators"), Reply::Done));
}

#[test]
fn schedules_of_a_tenant_are_capped() {
    let mut world = world();
    let mut add = |who, name| world.apply(put((who, name), Overlap::Skip));
    for name in ["one", "two", "one"] {
        assert!(matches!(add("a", name), Reply::Cron { .. }), "one that exists is replaced");
    }
    refused(add("a", "three"), Capped::Schedules, "a", 2);
    assert!(matches!(add("b", "three"), Reply::Cron { created: true, .. }));
    world.crash(10);
    refused(world.apply(put(("a", "three"), Overlap::Skip)), Capped::Schedules, "a", 2);
    let one = CronName::parse("one").unwrap().of_tenant(&tenant("a"));
    world.apply(Command::RemoveCron(one));
    let reply = world.apply(put(("a", "three"), Overlap::Skip));
    assert!(matches!(reply, Reply::Cron { created: true, .. }), "{reply:?}");
}

/// The tenants whose schedules ran since the last call, and those whose runs were one too many.
fn ran(world: &mut World) -> (Vec<String>, Vec<String>) {
    let (mut ran, mut skipped) = (Vec::new(), Vec::new());
    for event in std::mem::take(&mut world.events) {
        match event {
            EventKind::CronTriggered { job, .. } => ran.push(job.class.tenant.to_string()),
            EventKind::CronSkipped { class, reason: "too_many_runs", .. } => {
                skipped.push(class.tenant.to_string());
            }
            _ => {}
        }
    }
    (ran, skipped)
}

#[test]
fn unfinished_runs_of_a_tenants_schedules_are_capped() {
    for overlap in [Overlap::Allow, Overlap::Enqueue] {
        let mut world = world();
        world.apply(put(("a", "often"), overlap));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        world.pass(MINUTE);
        world.pass(MINUTE);
        assert_eq!(ran(&mut world), (names(&["a", "a"]), vec![]));
        world.apply(put(("b", "often"), overlap));
        world.pass(MINUTE);
        assert_eq!(ran(&mut world), (names(&["b"]), names(&["a"])));
        world.crash(10);
        world.pass(MINUTE);
        assert_eq!(ran(&mut world), (names(&["b"]), names(&["a"])));
        let run = world.fetch_with(&["default"], 1, |fetch| fetch.tenant = Some(tenant("a")));
        world.ack(run[0].seq);
        world.pass(MINUTE);
        assert_eq!(ran(&mut world), (names(&["a"]), names(&["b"])));
    }
}

#[test]
fn a_run_that_replaces_the_one_before_always_fits() {
    let mut world = world();
    for name in ["one", "two"] {
        world.apply(put(("a", name), Overlap::CancelPrevious));
    }
    for _ in 0..3 {
        world.pass(MINUTE);
        assert_eq!(ran(&mut world).0.len(), 2);
    }
    assert_eq!(world.fetch(9).len(), 2);
}

fn wait(world: &mut World, id: u64, who: Option<&str>) -> Reply {
    let fetch = Fetch {
        tenant: who.map(tenant),
        wait: Some((WaiterId(id), 30_000)),
        ..Fetch::of(vec![QueueName::default_queue()], 1)
    };
    world.apply(Command::Fetch(fetch))
}

#[test]
fn waiting_fetches_of_a_tenant_are_capped() {
    let mut world = world();
    for id in [1, 2] {
        assert!(matches!(wait(&mut world, id, Some("a")), Reply::Waiting));
    }
    refused(wait(&mut world, 3, Some("a")), Capped::WaitingFetches, "a", 2);
    assert!(matches!(wait(&mut world, 4, Some("b")), Reply::Waiting));
    assert!(matches!(wait(&mut world, 5, None), Reply::Waiting));
    // Changes of pools do not lose count.
    world.put_pool("p", json!({"queues": ["other"]}));
    refused(wait(&mut world, 6, Some("a")), Capped::WaitingFetches, "a", 2);
    world.apply(Command::StopWaiting(WaiterId(1)));
    assert!(matches!(wait(&mut world, 7, Some("a")), Reply::Waiting));
    // Two are served, and then there is room for two.
    world.enqueue(&job("a"), 2);
    assert_eq!(world.woken.len(), 2);
    assert!(matches!(wait(&mut world, 8, Some("a")), Reply::Waiting));
    // Those whose time is over make room as well.
    world.pass(30_000);
    for id in [9, 10] {
        assert!(matches!(wait(&mut world, id, Some("a")), Reply::Waiting));
    }
    refused(wait(&mut world, 11, Some("a")), Capped::WaitingFetches, "a", 2);
}

/// Only waiting is capped: what can be served at once is served.
#[test]
fn a_tenant_at_its_cap_of_waiting_fetches_is_served_from_other_queues() {
    let mut world = world();
    for id in [1, 2] {
        wait(&mut world, id, Some("a"));
    }
    world.enqueue(&job("a").queue("other"), 1);
    let got = world.fetch_with(&["other"], 1, |fetch| {
        (fetch.tenant, fetch.wait) = (Some(tenant("a")), Some((WaiterId(3), 1_000)));
    });
    assert_eq!(got.len(), 1);
}

#[test]
fn waiting_enqueues_of_a_tenant_are_capped() {
    let mut world = world();
    let bounds = Bounds {
        max_depth: 1,
        max_bytes: 0,
        tenant_max_depth: 0,
        tenant_max_bytes: 0,
        strategy: Backpressure::Block,
        warn_at: 800,
    };
    let settings = QueueSettings { bounds: Some(bounds), ..QueueSettings::default() };
    world.apply(Command::ConfigureQueue(QueueName::default_queue(), settings));
    world.enqueue(&job("c"), 1);
    let rejections = |world: &World| {
        world.events.iter().filter(|e| matches!(e, EventKind::QueueRejected { .. })).count()
    };
    for _ in 0..2 {
        assert!(matches!(world.try_enqueue(&[job("a")], 10_000), Reply::Waiting));
    }
    refused(world.try_enqueue(&[job("a")], 10_000), Capped::WaitingEnqueues, "a", 2);
    assert_eq!(rejections(&world), 1, "the queue has refused it as well");
    assert!(matches!(world.try_enqueue(&[job("b")], 20_000), Reply::Waiting));
    // One comes in, so another may wait.
    assert_eq!(world.fetch(1).len(), 1);
    assert!(matches!(world.try_enqueue(&[job("a")], 10_000), Reply::Waiting));
    refused(world.try_enqueue(&[job("a")], 10_000), Capped::WaitingEnqueues, "a", 2);
    // And when their time is over.
    world.pass(10_000);
    assert!(matches!(world.try_enqueue(&[job("a")], 10_000), Reply::Waiting));
}

#[test]
fn a_fetch_that_may_not_wait_puts_its_worker_in_no_pool() {
    let mut world = world();
    world.put_pool("p", json!({"queues": ["default"]}));
    for id in [1, 2] {
        assert!(matches!(wait(&mut world, id, Some("a")), Reply::Waiting));
    }
    let fetch = Fetch {
        worker: Some(WorkerId::parse("w").unwrap()),
        tenant: Some(tenant("a")),
        pool: crate::world::pool("p"),
        wait: Some((WaiterId(3), 30_000)),
        ..Fetch::of(Vec::new(), 1)
    };
    refused(world.apply(Command::Fetch(fetch.clone())), Capped::WaitingFetches, "a", 2);
    world.enqueue(&job("a").queue("elsewhere"), 1);
    let queues = vec![QueueName::parse("elsewhere").unwrap()];
    let reply = world.apply(Command::Fetch(Fetch { queues, pool: None, wait: None, ..fetch }));
    assert!(matches!(&reply, Reply::Fetched(jobs) if jobs.len() == 1), "{reply:?}");
}

#[test]
fn tenants_that_nobody_configured_are_capped() {
    let caps = Caps { tenants: 20, ..Caps::default() };
    let mut world = World::with(Config { caps, ..Config::default() });
    let tenants: Vec<&'static str> = (0..30).map(|n| name(format!("t{n}"))).collect();
    let send = |world: &mut World, all: &[&'static str]| {
        world.try_enqueue(&all.iter().map(|id| job(id)).collect::<Vec<_>>(), 0)
    };
    let invented =
        tenants.iter().take_while(|id| matches!(send(&mut world, &[id]), Reply::Enqueued(_)));
    assert_eq!(invented.count(), 19);
    refused(send(&mut world, &["t0", "new"]), Capped::Tenants, "new", 0);
    let pause = Command::PauseShard(tenant("new"), QueueName::default_queue());
    refused(world.apply(pause), Capped::Tenants, "new", 0);
    // Who is known goes on, and so do tenants that are configured, however many there are.
    assert!(matches!(send(&mut world, &["t0", "t1"]), Reply::Enqueued(_)));
    for id in ["known", "other", "third"] {
        world.tenant(id, json!({"fairness_weight": 2}));
        assert!(matches!(send(&mut world, &[id]), Reply::Enqueued(_)));
    }
    assert!(matches!(send(&mut world, &["_default"]), Reply::Enqueued(_)));
    world.crash(10);
    assert!(matches!(send(&mut world, &["t0", "third"]), Reply::Enqueued(_)));
    refused(send(&mut world, &["new"]), Capped::Tenants, "new", 0);
    // Idle tenants are forgotten.
    let sent = 1..world.engine.next_seq().0;
    let targets = sent.map(|number| world.target(Seq(number))).collect();
    world.apply(Command::Delete(targets));
    (0..120).for_each(|_| world.pass(900_000));
    assert!(matches!(send(&mut world, &["new", "newer"]), Reply::Enqueued(_)));
}

#[test]
fn a_deleted_tenant_makes_room_for_another_although_finished_jobs_remain() {
    let caps = Caps { tenants: 20, ..Caps::default() };
    let mut world = World::with(Config { caps, ..Config::default() });
    let mut n = 0;
    while let Reply::Enqueued(_) = world.try_enqueue(&[job(name(format!("t{n}")))], 0) {
        n += 1;
    }
    let refused = |world: &mut World, id: &'static str| {
        matches!(world.try_enqueue(&[job(id)], 0), Reply::Refused(Refusal::CapReached(_)))
    };
    assert!(refused(&mut world, "late"));
    let first = world.fetch(1)[0].seq;
    world.ack(first);
    let gone = world.owner(first);
    world.apply(Command::DeleteTenant(tenant(&gone), None));
    world.crash(0);
    assert!(!refused(&mut world, "late"), "{gone} was deleted");
    assert!(refused(&mut world, name(gone)), "it would be one more again");
}

#[test]
fn a_shared_worker_takes_its_name_back_from_a_tenant() {
    let mut world = World::new();
    let id = || WorkerId::parse("shared-1").unwrap();
    let about = |tenant: Option<&str>| {
        let registration = Registration::named(id());
        Registration { tenant: tenant.map(self::tenant), concurrency: Some(1), ..registration }
    };
    let beat = |tenant| Beat {
        worker: id(),
        state: Some(Directive::Quiet),
        jobs: Vec::new(),
        visibility_ms: None,
        about: about(tenant).into(),
    };
    world.apply(Command::Beat(beat(Some("evil"))));
    world.enqueue(&job("a"), 3);
    let claimed = world.fetch_with(&["default"], 2, |fetch| fetch.worker = Some(id()));
    assert_eq!(claimed.len(), 2, "neither the tenant's directive nor its concurrency holds");
    let again = world.apply(Command::Beat(beat(Some("evil"))));
    assert!(matches!(again, Reply::Refused(Refusal::OthersWorker)), "{again:?}");
    world.pass(world.config.heartbeat_timeout_ms * 2);
    assert!(world.fetch(5).len() <= 1, "its jobs are not taken for those of a silent worker");
}
