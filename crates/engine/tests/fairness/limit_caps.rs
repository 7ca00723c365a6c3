//! Declarations, overrides and pauses of rate limits: how many a tenant may have, and when they go.

use rota_engine::{Cap, CapReached, Capped, Caps, Command, Config, PutLimit, Refusal, Reply};
use rota_model::limit::parse_numbers;
use rota_model::{LimitKey, LimitNumbers, TenantId};
use serde_json::json;

use crate::world::{World, concurrency, job, name};

/// Two for a tenant, 40 in all.
fn world() -> World {
    let caps = Caps { rate_limits: Cap { total: 40, per_tenant: 2 }, ..Caps::default() };
    World::with(Config { caps, ..Config::default() })
}

fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).unwrap()
}

fn key(name: &str) -> LimitKey {
    LimitKey::parse(name).unwrap()
}

fn numbers() -> LimitNumbers {
    parse_numbers(json!({"concurrency": 1}).as_object().unwrap(), "x").unwrap()
}

fn put(name: &str, who: Option<&str>) -> PutLimit {
    PutLimit {
        key: key(name),
        tenant: who.map(tenant),
        numbers: Some((numbers().into(), None)),
        feedback: None,
        paused_until: None,
        reason: None,
    }
}

fn declare(world: &mut World, name: &str, who: Option<&str>) -> Result<(), CapReached> {
    match world.apply(Command::PutLimit(put(name, who).into())) {
        Reply::Limit(_) => Ok(()),
        Reply::Refused(Refusal::CapReached(reached)) => {
            assert_eq!(reached.capped, Capped::RateLimits);
            Err(reached)
        }
        other => panic!("{other:?}"),
    }
}

fn clear(world: &mut World, name: &str, who: Option<&str>) {
    let reply = world.apply(Command::ClearLimit(key(name), who.map(tenant)));
    assert!(matches!(reply, Reply::Limit(_)), "{reply:?}");
}

fn is_declared(world: &World, name: &str, who: &str) -> bool {
    world.engine.limit(&key(name), Some(&tenant(who))).is_some()
}

#[test]
fn a_tenant_declares_so_many_limits_and_can_remove_them() {
    let mut world = world();
    for name in ["one", "two", "one"] {
        declare(&mut world, name, Some("a")).unwrap();
    }
    let reached = declare(&mut world, "three", Some("a")).unwrap_err();
    assert!(reached.is_tenants());
    assert_eq!((reached.own, reached.all), (2, 2));
    assert!(!is_declared(&world, "three", "a"), "nothing is left of what was refused");
    declare(&mut world, "three", Some("b")).unwrap();
    world.crash(10);
    declare(&mut world, "three", Some("a")).unwrap_err();
    clear(&mut world, "one", Some("a"));
    declare(&mut world, "three", Some("a")).unwrap();
    // An override goes by itself.
    clear(&mut world, "two", Some("a"));
    let numbers = Some((numbers().into(), Some(world.wall().saturating_add_ms(1_000))));
    world.apply(Command::PutLimit(PutLimit { numbers, ..put("four", Some("a")) }.into()));
    declare(&mut world, "two", Some("a")).unwrap_err();
    world.pass(1_000);
    declare(&mut world, "two", Some("a")).unwrap();
}

#[test]
fn invented_tenants_leave_declarations_to_configured_ones_and_operators() {
    let mut world = world();
    world.tenant("known", json!({"weight": 2}));
    let mut number = 0;
    while declare(&mut world, "key", Some(name(format!("t{number}")))).is_ok() {
        number += 1;
    }
    assert_eq!(number, 38);
    declare(&mut world, "more", Some("t0")).unwrap_err();
    declare(&mut world, "key", Some("known")).unwrap();
    declare(&mut world, "shared", None).unwrap();
    assert_eq!(declare(&mut world, "other", None).unwrap_err().tenant, None);
    clear(&mut world, "key", Some("t7"));
    declare(&mut world, "other", None).unwrap();
}

#[test]
fn a_tenant_with_a_declaration_stays_and_takes_it_along_when_it_is_deleted() {
    let mut world = world();
    declare(&mut world, "one", Some("a")).unwrap();
    declare(&mut world, "two", Some("a")).unwrap();
    declare(&mut world, "one", Some("b")).unwrap();
    for _ in 0..20 {
        world.pass(3_600_000);
    }
    assert!(world.engine.knows_tenant("a"));
    world.crash(10);
    let reply = world.apply(Command::DeleteTenant(tenant("a"), None));
    assert!(matches!(reply, Reply::Tenant { .. }), "{reply:?}");
    assert!(!is_declared(&world, "one", "a") && !is_declared(&world, "two", "a"));
    assert!(is_declared(&world, "one", "b"));
    assert!(!world.engine.knows_tenant("a"));
    world.crash(10);
    assert!(!is_declared(&world, "one", "a"));
    declare(&mut world, "three", Some("a")).unwrap();
}

#[test]
fn a_pause_that_a_worker_asks_for_counts_for_its_tenant_and_beyond_the_cap_holds_the_job_alone() {
    let mut world = world();
    let ask = |world: &mut World, n: usize| {
        let key = name(format!("k{n}"));
        let seq = world.enqueue(&job("a").limit(concurrency(key, 5)), 2)[0];
        let got = world.fetch(1).remove(0);
        assert_eq!(got.seq, seq);
        let until = world.wall().saturating_add_ms(60_000);
        world.nack(seq, Some(until));
        let view = world.engine.limit(&LimitKey::parse(key).unwrap(), None).unwrap();
        view.paused_until.is_some()
    };
    assert!(ask(&mut world, 0) && ask(&mut world, 1));
    assert!(!ask(&mut world, 2), "the key goes on");
    // The other job of the key starts; the one that met the limit waits.
    assert_eq!(world.fetch(5).len(), 1);
    declare(&mut world, "mine", Some("a")).unwrap_err();
    // An operator's word makes the key the operator's.
    declare(&mut world, "k0", None).unwrap();
    declare(&mut world, "mine", Some("a")).unwrap();
    world.pass(60_000);
    declare(&mut world, "more", Some("a")).unwrap();
}
