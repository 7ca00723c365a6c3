//! What schedules and workers say about themselves stays in memory, so its bytes are capped per tenant.

use rota_engine::{
    Beat, Cap, CapReached, Capped, Caps, Command, Config, EventKind, Overlap, Refusal,
    Registration, Reply,
};
use rota_model::{CronName, TenantId, WorkerId};
use serde_json::json;

use crate::schedules::put;
use crate::world::World;

fn world() -> World {
    let cap = Cap { total: 100_000, per_tenant: 4_000 };
    let caps = Caps { worker_bytes: cap, schedule_bytes: cap, ..Caps::default() };
    World::with(Config { caps, ..Config::default() })
}

/// A tenant's schedule of every minute that takes up so many bytes, and a few more.
pub fn put_large(tenant: &str, name: &str, bytes: usize) -> Command {
    let Command::PutCron(mut spec) = put((tenant, name), Overlap::Skip) else { unreachable!() };
    spec.shown = format!(r#"{{"description":"{}"}}"#, "x".repeat(bytes)).into();
    Command::PutCron(spec)
}

fn reached(reply: Reply) -> CapReached {
    let Reply::Refused(Refusal::CapReached(reached)) = reply else { panic!("{reply:?}") };
    reached
}

fn accepted(reply: Reply) {
    assert!(!matches!(reply, Reply::Refused(_)), "{reply:?}");
}

#[test]
fn a_tenants_schedules_have_so_many_bytes() {
    let mut world = world();
    accepted(world.apply(put_large("a", "one", 1_200)));
    accepted(world.apply(put_large("a", "two", 1_200)));
    let refused = reached(world.apply(put_large("a", "three", 1_200)));
    assert_eq!((refused.capped, refused.per_tenant), (Capped::ScheduleBytes, 4_000));
    assert!(refused.is_tenants() && refused.own > 2_400, "{refused:?}");
    // One that exists counts with what it grows by.
    accepted(world.apply(put_large("a", "two", 1_300)));
    let refused = reached(world.apply(put_large("a", "two", 3_000)));
    assert_eq!(refused.capped, Capped::ScheduleBytes);
    accepted(world.apply(put_large("b", "three", 1_200)));
    world.crash(10);
    assert!(
        reached(world.apply(put_large("a", "three", 1_200))).own > 2_400,
        "also after a restart"
    );
    let one = CronName::parse("one").unwrap().of_tenant(&TenantId::parse("a").unwrap());
    accepted(world.apply(Command::RemoveCron(one)));
    accepted(world.apply(put_large("a", "three", 1_200)));
}

#[test]
fn schedules_obey_a_tenants_max_bytes() {
    let mut world = World::new();
    world.tenant("a", json!({"max_bytes": 2_500}));
    accepted(world.apply(put_large("a", "one", 1_200)));
    for (bytes, fits_later) in [(1_200, true), (2_600, false)] {
        let reply = world.apply(put_large("a", "two", bytes));
        let Reply::Refused(Refusal::TenantLimit { limit, maximum, retry_ms, .. }) = reply else {
            panic!("{reply:?}")
        };
        assert_eq!((limit, maximum, retry_ms.is_some()), ("max_bytes", 2_500, fits_later));
    }
    let events = world.events.iter();
    let told = |event: &&EventKind| {
        matches!(event, EventKind::TenantLimitExceeded { limit: "max_bytes", soft: false, .. })
    };
    assert_eq!(events.filter(told).count(), 2);
    accepted(world.apply(put_large("a", "one", 1_000)));
    world.tenant("a", json!({"max_bytes": 2_500, "quota": "soft"}));
    accepted(world.apply(put_large("a", "two", 1_200)));
}

fn about(tenant: &str, name: &str, bytes: usize) -> Registration {
    Registration {
        tenant: Some(TenantId::parse(tenant).unwrap()),
        version: Some("x".repeat(bytes)),
        ..Registration::named(WorkerId::parse(name).unwrap())
    }
}

fn register(world: &mut World, tenant: &str, name: &str, bytes: usize) -> Reply {
    world.apply(Command::Register(about(tenant, name, bytes).into()))
}

#[test]
fn a_tenants_workers_have_so_many_bytes_and_heartbeats_go_on() {
    let mut world = world();
    accepted(register(&mut world, "a", "a1", 1_500));
    accepted(register(&mut world, "a", "a2", 1_500));
    let refused = reached(register(&mut world, "a", "a3", 1_500));
    assert_eq!((refused.capped, refused.per_tenant), (Capped::WorkerBytes, 4_000));
    accepted(register(&mut world, "a", "a2", 1_500));
    accepted(register(&mut world, "b", "b1", 1_500));
    let mut beat = |bytes| {
        world.apply(Command::Beat(Beat {
            worker: WorkerId::parse("a2").unwrap(),
            state: None,
            jobs: Vec::new(),
            visibility_ms: None,
            about: about("a", "a2", bytes).into(),
        }))
    };
    // What there is no room for is left out.
    assert!(matches!(beat(3_000), Reply::Beat(_)));
    assert!(matches!(beat(100), Reply::Beat(_)), "it makes room");
    world.crash(10);
    accepted(register(&mut world, "a", "a3", 1_500));
    reached(register(&mut world, "a", "a4", 1_500));
    let gone = Command::Deregister(WorkerId::parse("a1").unwrap(), TenantId::parse("a").ok());
    accepted(world.apply(gone));
    accepted(register(&mut world, "a", "a4", 1_500));
}
