//! Pools that belong to tenants, and pools of the operator that are open to some.

use crate::world::{World, job, pool};
use rota_engine::{Beat, Command, Config, Fetch, Refusal, Registration, Reply, WaiterId};
use rota_model::{Cap, PoolConfig, PoolName, QueueName, TenantId, WorkerId};
use serde_json::{Value, json};

fn tenant(id: &str) -> TenantId {
    TenantId::parse(id).unwrap()
}

fn own(owner: &str, name: &str) -> PoolName {
    PoolName::parse(name).unwrap().of_tenant(&tenant(owner))
}

fn worker(owner: &str) -> WorkerId {
    WorkerId::parse("w").unwrap().in_namespace(&tenant(owner))
}

fn put(world: &mut World, name: PoolName, config: Value) -> Reply {
    let config = PoolConfig::parse(config.as_object().unwrap()).unwrap();
    world.apply(Command::PutPool(name, config.into()))
}

fn put_own(world: &mut World, owner: &str, name: &str, config: Value) {
    let reply = put(world, own(owner, name), config);
    assert!(matches!(reply, Reply::Pool { .. }), "{reply:?}");
}

/// A fetch of a tenant's caller that names a pool.
fn ask(world: &mut World, owner: &str, name: &str) -> Reply {
    let fetch = Fetch { tenant: Some(tenant(owner)), pool: pool(name), ..Fetch::of(vec![], 9) };
    world.apply(Command::Fetch(fetch))
}

fn fetched(reply: Reply) -> usize {
    match reply {
        Reply::Fetched(claimed) => claimed.len(),
        other => panic!("{other:?}"),
    }
}

fn is_unknown(reply: &Reply, name: &str) -> bool {
    matches!(reply, Reply::Refused(Refusal::UnknownPool { pool }) if **pool == *name)
}

#[test]
fn tenants_have_pools_of_the_same_name_and_know_nothing_of_each_others() {
    let mut world = World::new();
    for owner in ["acme", "globex", "initech"] {
        world.enqueue(&job(owner).queue("a"), 9);
    }
    put_own(&mut world, "acme", "p", json!({"queues": ["a"], "concurrency": 2}));
    put_own(&mut world, "globex", "p", json!({"queues": ["a"], "concurrency": 3}));
    assert_eq!(fetched(ask(&mut world, "acme", "p")), 2);
    assert_eq!(fetched(ask(&mut world, "globex", "p")), 3);
    assert!(is_unknown(&ask(&mut world, "initech", "p"), "p"));
    let operators = Fetch { pool: pool("p"), ..Fetch::of(vec![], 1) };
    assert!(is_unknown(&world.apply(Command::Fetch(operators)), "p"));
    let shown = |owner: &str| {
        let view = world.engine.pool(Some(&tenant(owner)), &pool("p").unwrap());
        view.map(|view| (view.name.owner(), view.active_jobs))
    };
    assert_eq!(shown("acme"), Some((Some(tenant("acme")), 2)));
    assert_eq!(shown("globex"), Some((Some(tenant("globex")), 3)));
    assert_eq!(shown("initech"), None);
}

#[test]
fn an_operators_pool_is_open_to_those_that_it_names() {
    let mut world = World::new();
    for owner in ["acme", "globex"] {
        world.enqueue(&job(owner).queue("a"), 2);
    }
    world.put_pool("p", json!({"queues": ["a"], "tenants": ["acme"]}));
    assert!(is_unknown(&ask(&mut world, "globex", "p"), "p"));
    assert_eq!(fetched(ask(&mut world, "acme", "p")), 2);
    let names = |world: &World, owner: &str| {
        let pools = world.engine.pools_of_tenant_after(&tenant(owner), "", 0, 9);
        let names: Vec<String> = pools.iter().map(|pool| pool.name.local().to_owned()).collect();
        assert_eq!(names.len(), world.engine.pool_count_of_tenant(&tenant(owner)));
        names
    };
    world.put_pool("all", json!({"queues": ["b"], "tenants": "*"}));
    put_own(&mut world, "globex", "mine", json!({"queues": ["b"]}));
    assert_eq!(names(&world, "acme"), ["all", "p"]);
    assert_eq!(names(&world, "globex"), ["all", "mine"]);
    // A shared worker of the operator's serves all tenants, whoever the pool is open to.
    assert_eq!(world.fetch_with(&[], 9, |f| f.pool = pool("p")).len(), 2);
}

#[test]
fn without_tenants_a_pool_is_open_to_all_who_share_queues_and_to_nobody_with_queues_of_its_own() {
    for (queues_per_tenant, open) in [(false, true), (true, false)] {
        let mut world = World::with(Config { queues_per_tenant, ..Config::default() });
        world.put_pool("p", json!({"queues": ["a"]}));
        assert_eq!(!is_unknown(&ask(&mut world, "acme", "p"), "p"), open);
        world.put_pool("p", json!({"queues": ["a"], "tenants": ["acme"]}));
        assert!(!is_unknown(&ask(&mut world, "acme", "p"), "p"));
        world.crash(0);
        assert!(!is_unknown(&ask(&mut world, "acme", "p"), "p"));
        assert!(is_unknown(&ask(&mut world, "globex", "p"), "p"));
    }
}

#[test]
fn a_pool_that_is_closed_to_a_tenant_is_deleted_for_it() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["a"], "tenants": ["acme", "globex"]}));
    let wait = |world: &mut World, id: u64, owner: &str, change: &dyn Fn(&mut Fetch)| {
        let mut fetch = Fetch::of(vec![], 1);
        (fetch.tenant, fetch.wait) = (Some(tenant(owner)), Some((WaiterId(id), 60_000)));
        change(&mut fetch);
        let reply = world.apply(Command::Fetch(fetch));
        assert!(matches!(reply, Reply::Waiting), "{reply:?}");
    };
    wait(&mut world, 1, "acme", &|f| f.pool = pool("p"));
    wait(&mut world, 2, "globex", &|f| f.pool = pool("p"));
    let about = Registration {
        pool: pool("p"),
        tenant: Some(tenant("acme")),
        queues: vec![QueueName::parse("b").unwrap()],
        ..Registration::named(worker("acme"))
    };
    assert!(matches!(world.apply(Command::Register(about.into())), Reply::Done));
    wait(&mut world, 3, "acme", &|f| f.worker = Some(worker("acme")));

    world.put_pool("p", json!({"queues": ["a"], "tenants": ["globex"]}));
    let told = std::mem::take(&mut world.woken);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].0 == WaiterId(1) && is_unknown(&told[0].1, "p"), "{told:?}");
    // The worker goes on with the queues of its registration.
    world.enqueue(&job("acme").queue("a"), 1);
    assert!(world.woken.is_empty());
    world.enqueue(&job("acme").queue("b"), 1);
    assert_eq!(std::mem::take(&mut world.woken)[0].0, WaiterId(3));
    assert_eq!(world.engine.worker(&worker("acme"), None).unwrap().about.pool, None);
    // Its heartbeats may still name the pool.
    let beat = |world: &mut World, name: &str| {
        let about = Registration {
            pool: pool(name),
            tenant: Some(tenant("acme")),
            ..Registration::named(worker("acme"))
        };
        let (worker, state, jobs, visibility_ms) = (worker("acme"), None, Vec::new(), None);
        let about = about.into();
        world.apply(Command::Beat(Beat { worker, state, jobs, visibility_ms, about }))
    };
    assert!(matches!(beat(&mut world, "p"), Reply::Beat(_)));
    assert!(is_unknown(&beat(&mut world, "other"), "other"));

    world.put_pool("p", json!({"queues": ["a"], "tenants": "*"}));
    let view = world.engine.worker(&worker("acme"), None).unwrap();
    assert_eq!(view.about.pool, pool("p"), "it is in the pool again");
}

#[test]
fn a_tenants_pool_hides_the_operators_of_the_same_name_and_cannot_take_its_name() {
    let mut world = World::new();
    world.enqueue(&job("acme").queue("a"), 9);
    put_own(&mut world, "acme", "p", json!({"queues": ["a"], "concurrency": 1}));
    world.put_pool("p", json!({"queues": ["b"]}));
    assert_eq!(fetched(ask(&mut world, "acme", "p")), 1);
    assert_eq!(world.engine.pool_count_of_tenant(&tenant("acme")), 1);
    let taken = put(&mut world, own("globex", "p"), json!({"queues": ["a"]}));
    assert!(matches!(taken, Reply::Refused(Refusal::OperatorsPool { .. })), "{taken:?}");
    // A name that the tenant may not know is free.
    world.put_pool("p", json!({"queues": ["b"], "tenants": []}));
    put_own(&mut world, "globex", "p", json!({"queues": ["a"]}));
    let removed = world.apply(Command::RemovePool(own("acme", "p")));
    assert!(matches!(removed, Reply::Pool { .. }), "{removed:?}");
    assert!(is_unknown(&ask(&mut world, "acme", "p"), "p"));
}

#[test]
fn isolation_of_a_tenants_queue_concerns_that_tenant_alone() {
    let mut world = World::with(Config { queues_per_tenant: true, ..Config::default() });
    let mail = QueueName::parse("mail").unwrap();
    let by_name = |world: &mut World, owner: &str| {
        let queue = mail.in_namespace(&tenant(owner));
        let fetch = Fetch { tenant: Some(tenant(owner)), ..Fetch::of(vec![queue], 1) };
        fetched(world.apply(Command::Fetch(fetch)))
    };
    world.enqueue(&job("acme").queue("acme/mail"), 9);
    world.enqueue(&job("globex").queue("globex/mail"), 9);
    world.put_pool("kept", json!({"queues": ["mail"], "isolated": true, "tenants": ["initech"]}));
    put_own(&mut world, "acme", "own", json!({"queues": ["mail"], "isolated": true}));
    assert_eq!(by_name(&mut world, "acme"), 0);
    assert_eq!(by_name(&mut world, "globex"), 1, "neither pool is its own");
    assert_eq!(fetched(ask(&mut world, "acme", "own")), 9);
    world.enqueue(&job("acme").queue("acme/mail"), 1);
    put_own(&mut world, "acme", "own", json!({"queues": ["mail"]}));
    assert_eq!(by_name(&mut world, "acme"), 1);
}

#[test]
fn pools_of_tenants_survive_a_restart_with_their_active_jobs() {
    let mut world = World::new();
    world.enqueue(&job("acme").queue("a"), 9);
    put_own(&mut world, "acme", "p", json!({"queues": ["a"], "concurrency": 2}));
    put_own(&mut world, "acme", "gone", json!({"queues": ["a"], "concurrency": 2}));
    assert_eq!(fetched(ask(&mut world, "acme", "p")), 2);
    assert_eq!(fetched(ask(&mut world, "acme", "gone")), 2);
    world.apply(Command::RemovePool(own("acme", "gone")));
    world.crash(0);
    assert_eq!(fetched(ask(&mut world, "acme", "p")), 0);
    // Jobs of a deleted pool count again when a pool of that name is made.
    put_own(&mut world, "acme", "gone", json!({"queues": ["a"], "concurrency": 3}));
    assert_eq!(fetched(ask(&mut world, "acme", "gone")), 1);
}

#[test]
fn a_tenant_at_its_cap_of_pools_leaves_the_rest_to_others_and_may_delete_one() {
    let mut config = Config::default();
    config.caps.pools = Cap { total: 100, per_tenant: 2 };
    let mut world = World::with(config);
    put_own(&mut world, "acme", "p1", json!({"queues": ["a"]}));
    put_own(&mut world, "acme", "p2", json!({"queues": ["a"]}));
    let refused = put(&mut world, own("acme", "p3"), json!({"queues": ["a"]}));
    assert!(matches!(refused, Reply::Refused(Refusal::CapReached(_))), "{refused:?}");
    put_own(&mut world, "acme", "p2", json!({"queues": ["b"]}));
    put_own(&mut world, "globex", "p1", json!({"queues": ["a"]}));
    world.put_pool("operators", json!({"queues": ["a"]}));
    world.apply(Command::RemovePool(own("acme", "p1")));
    put_own(&mut world, "acme", "p3", json!({"queues": ["a"]}));
}

#[test]
fn a_deleted_tenants_pools_go_with_it() {
    let mut world = World::new();
    put_own(&mut world, "acme", "p", json!({"queues": ["a"]}));
    let deleted = world.apply(Command::DeleteTenant(tenant("acme"), None));
    assert!(matches!(deleted, Reply::Tenant { .. }), "{deleted:?}");
    assert_eq!(world.engine.pool_count(), 0);
    assert_eq!(world.rows_of(rota_model::mutation::RowKind::Pool), [""; 0]);
}

#[test]
fn a_change_of_a_tenants_pool_costs_others_nothing() {
    let cost = |others: u64| {
        let mut world = World::new();
        world.put_pool("shared", json!({"queues": ["a"]}));
        for id in 0..others {
            let fetch = Fetch {
                tenant: Some(tenant(&format!("t{}", id % 50))),
                pool: pool("shared"),
                wait: Some((WaiterId(id), 60_000)),
                ..Fetch::of(vec![], 1)
            };
            assert!(matches!(world.apply(Command::Fetch(fetch)), Reply::Waiting));
        }
        put_own(&mut world, "acme", "p", json!({"queues": ["a"]}));
        let before = world.engine.scheduler_steps();
        put_own(&mut world, "acme", "p", json!({"queues": ["a", "b"]}));
        world.engine.scheduler_steps() - before
    };
    assert_eq!(cost(10), cost(500));
}
