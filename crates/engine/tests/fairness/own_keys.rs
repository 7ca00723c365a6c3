//! Limit keys of callers whose credentials prove their tenant: the tenant's own, unless an operator has
//! declared the key.

use rota_engine::{Command, CronSpec, Enqueue, Override, PutLimit, Refusal, Reply};
use rota_model::envelope::NewJob;
use rota_model::{CronName, Feedback, LimitKey, Millis, Seq, TenantId};
use serde_json::json;

use crate::world::{World, job};

fn enqueue(world: &mut World, tenant: &'static str, scope: &str) -> Result<Seq, Refusal> {
    let limit = json!({"key": "api", "concurrency": 10, "scope": scope});
    let job = NewJob { proven: true, ..world.make(&job(tenant).limit(limit)) };
    match world.apply(Command::Enqueue(Enqueue { jobs: vec![job], wait: None })) {
        Reply::Enqueued(admission) => Ok(admission.jobs[0].seq),
        Reply::Refused(refusal) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

fn declare(world: &mut World, feedback: Option<Feedback>) -> Reply {
    let put = PutLimit {
        key: LimitKey::parse("api").unwrap(),
        tenant: None,
        numbers: None,
        feedback,
        paused_until: None,
        reason: None,
    };
    world.apply(Command::PutLimit(put.into()))
}

fn fetched(world: &mut World) -> Vec<Seq> {
    let mut seqs: Vec<Seq> = world.fetch(10).iter().map(|claim| claim.seq).collect();
    seqs.sort();
    seqs
}

fn until(world: &World, ms: i64) -> Option<Millis> {
    Some(world.engine.now().wall.saturating_add_ms(ms))
}

/// Two tenants with a job each of a declared key; the first one's has met a limit elsewhere.
fn reported(world: &mut World, proven: bool) -> [Seq; 2] {
    world.say("api", json!({"concurrency": 10}), None);
    let met = enqueue(world, "a", "global").unwrap();
    assert_eq!(fetched(world), [met]);
    let other = enqueue(world, "b", "global").unwrap();
    let until = until(world, 5_000);
    world.report(met, until, proven);
    [met, other]
}

#[test]
fn a_shared_key_must_be_declared() {
    let mut world = World::new();
    let key = LimitKey::parse("api").unwrap();
    let undeclared = Refusal::UndeclaredKey { key: key.clone() };
    assert_eq!(enqueue(&mut world, "a", "global"), Err(undeclared.clone()));
    assert!(enqueue(&mut world, "a", "tenant").is_ok());
    // Whoever proves nothing can name any key, and that declares nothing.
    world.enqueue(&job("a").limit(json!({"key": "api", "concurrency": 10})), 1);
    assert_eq!(enqueue(&mut world, "a", "global"), Err(undeclared));
    world.say("api", json!({"concurrency": 10}), None);
    assert!(enqueue(&mut world, "a", "global").is_ok());
    world.apply(Command::ClearLimit(key, None));
    assert!(enqueue(&mut world, "a", "global").is_err());
}

#[test]
fn the_same_holds_for_schedules_and_for_jobs_retried_with_changes() {
    let mut world = World::new();
    let limit = json!({"key": "api", "concurrency": 10, "scope": "global"});
    let class = world.make(&job("a").limit(limit)).class;
    let spec = CronSpec {
        name: CronName::parse("c").unwrap().of_tenant(&class.tenant),
        expression: "* * * * *".into(),
        timezone: "UTC".into(),
        schedule: rota_model::cron::Schedule::parse("* * * * *", "UTC").unwrap(),
        overlap: rota_engine::Overlap::Allow,
        enabled: true,
        class: class.clone(),
        body: bytes::Bytes::new(),
        proven: true,
        shown: bytes::Bytes::new(),
    };
    let put = |world: &mut World| world.apply(Command::PutCron(Box::new(spec.clone())));
    assert!(matches!(put(&mut world), Reply::Refused(Refusal::UndeclaredKey { .. })));
    let seq = world.enqueue(&job("a"), 1)[0];
    world.fetch(1);
    world.fail(seq, None, false);
    let change = Override { class, body: bytes::Bytes::new(), proven: true };
    let retry = |world: &mut World| {
        let command = Command::RetryAs(vec![world.target(seq)], Box::new(change.clone()));
        match world.apply(command) {
            Reply::Changed(mut all) => all.remove(0).map(|_| ()),
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(retry(&mut world), Err(Refusal::UndeclaredKey { .. })));
    world.say("api", json!({"concurrency": 10}), None);
    assert!(matches!(put(&mut world), Reply::Cron { .. }));
    assert_eq!(retry(&mut world), Ok(()));
    // A run whose key is no longer declared is skipped.
    world.apply(Command::ClearLimit(LimitKey::parse("api").unwrap(), None));
    let name = spec.name.clone();
    let reply = world.apply(Command::TriggerCron { name, bytes: 0 });
    assert!(matches!(reply, Reply::Refused(Refusal::UndeclaredKey { .. })), "{reply:?}");
}

#[test]
fn a_tenants_report_pauses_its_own_part_of_a_shared_key() {
    let mut world = World::new();
    let [met, other] = reported(&mut world, true);
    assert_eq!(fetched(&mut world), [other]);
    let own = world.engine.limit(&LimitKey::parse("api").unwrap(), Some(&tenant("a"))).unwrap();
    assert!(own.paused_until.is_some());
    world.pass(4_999);
    assert_eq!(fetched(&mut world), []);
    world.pass(1);
    assert_eq!(fetched(&mut world), [met]);
    let shared = world.engine.limit(&LimitKey::parse("api").unwrap(), None).unwrap();
    assert_eq!(shared.active, 2, "the own part counts nothing");
}

#[test]
fn the_pause_of_an_own_part_survives_a_restart() {
    let mut world = World::new();
    let [met, other] = reported(&mut world, true);
    world.crash(0);
    assert_eq!(fetched(&mut world), [other]);
    world.pass(5_000);
    assert_eq!(fetched(&mut world), [met]);
    // Nothing is left of the part.
    world.ack(met);
    world.ack(other);
    world.pass(3_600_000);
    assert!(world.engine.limit(&LimitKey::parse("api").unwrap(), Some(&tenant("a"))).is_none());
}

#[test]
fn a_report_without_credentials_pauses_a_shared_key_for_all() {
    let mut world = World::new();
    let both = reported(&mut world, false);
    assert_eq!(fetched(&mut world), []);
    world.pass(5_000);
    assert_eq!(fetched(&mut world), both);
}

#[test]
fn a_declaration_can_let_a_tenants_report_pause_the_key_for_all() {
    let mut world = World::new();
    let reply = declare(&mut world, Some(Feedback::Shared));
    assert!(matches!(reply, Reply::Refused(Refusal::NotDeclared)), "{reply:?}");
    world.say("api", json!({"concurrency": 10}), None);
    assert!(matches!(declare(&mut world, Some(Feedback::Shared)), Reply::Limit(_)));
    world.crash(0);
    let both = reported(&mut world, true);
    assert_eq!(fetched(&mut world), []);
    world.pass(5_000);
    assert_eq!(fetched(&mut world), both);
}

#[test]
fn jobs_that_do_not_wait_for_limits_wait_for_a_paused_part() {
    let mut world = World::new();
    world.say("api", json!({"concurrency": 10}), None);
    let limit = json!({"key": "api", "concurrency": 10, "on_limit": "drop"});
    let jobs = world.enqueue(&job("a").limit(limit), 2);
    assert_eq!(world.fetch(1).len(), 1);
    let until = until(&world, 5_000);
    world.report(jobs[0], until, true);
    assert_eq!(fetched(&mut world), []);
    world.pass(5_000);
    assert_eq!(fetched(&mut world), jobs);
}

fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).unwrap()
}
