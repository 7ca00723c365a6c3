//! API keys: created, rotated, revoked, forgotten, and the same after a restart.

use rota_engine::{Cap, CapReached, Capped, Command, Config, KeyChange, Refusal, Reply, RotateKey};
use rota_identity::{ApiKey, KeyId, KeyName, KeyState, KeyText, Permission, RANDOM_BYTES};
use rota_model::{Millis, TenantId};
use serde_json::json;

use crate::world::World;

const DAY_MS: u64 = 86_400_000;

fn text(number: u8) -> KeyText {
    KeyText::new(&[number; RANDOM_BYTES])
}

fn key(number: u8, tenant: &str, expires: Option<Millis>) -> ApiKey {
    ApiKey {
        id: text(number).id(),
        hash: text(number).hash(),
        name: KeyName::parse("a key").unwrap(),
        tenant: Some(TenantId::parse(tenant).unwrap()),
        permissions: [Permission::Enqueue].into_iter().collect(),
        queues: None,
        job_types: None,
        created: Millis(0),
        expires,
        revoked: None,
        last_used: None,
        rotated_from: None,
        successor: None,
        bootstrap: false,
    }
}

fn world() -> World {
    let mut world = World::new();
    world.pass(1);
    world
}

fn create(world: &mut World, key: ApiKey) -> ApiKey {
    match world.apply(Command::CreateKey(Box::new(key))) {
        Reply::Key(key) => *key,
        other => panic!("{other:?}"),
    }
}

fn rotate(world: &mut World, old: KeyId, number: u8) -> Reply {
    let (new, hash) = (text(number).id(), text(number).hash());
    let rotate = RotateKey { old, new, hash, overlap_ms: DAY_MS, expires: None };
    world.apply(Command::RotateKey(Box::new(rotate)))
}

fn state(world: &World, id: KeyId) -> Option<KeyState> {
    world.engine.key(&id).map(|key| key.state(world.engine.now().wall))
}

fn refusal(reply: Reply) -> Refusal {
    match reply {
        Reply::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_revoked_key_is_announced_with_the_commit_and_stays_revoked_after_a_restart() {
    let mut world = world();
    let id = create(&mut world, key(1, "acme", None)).id;
    assert!(matches!(&world.engine.take_key_changes()[..], [KeyChange::Put(new)] if new.id == id));
    world.apply(Command::RevokeKey(id));
    let changes = world.engine.take_key_changes();
    assert!(matches!(&changes[..], [KeyChange::Put(key)] if key.revoked.is_some()));
    let revoked = world.engine.key(&id).unwrap();
    world.pass(5_000);
    // Again: nothing changes, and nothing is announced.
    assert!(matches!(world.apply(Command::RevokeKey(id)), Reply::Key(key) if *key == revoked));
    assert_eq!(world.engine.take_key_changes(), []);
    world.crash(0);
    assert_eq!(world.engine.key(&id), Some(revoked));
    assert_eq!(world.engine.take_key_changes(), []);
    assert_eq!(refusal(world.apply(Command::RevokeKey(text(9).id()))), Refusal::UnknownKey);
}

#[test]
fn the_same_key_is_created_once() {
    let mut world = world();
    let first = create(&mut world, key(1, "acme", None));
    world.pass(1_000);
    assert_eq!(create(&mut world, key(1, "acme", None)), first);
    assert_eq!(world.engine.key_count(None), 1);
    let other = ApiKey { hash: text(2).hash(), ..key(1, "acme", None) };
    let reply = world.apply(Command::CreateKey(Box::new(other)));
    assert_eq!(refusal(reply), Refusal::KeyExists);
}

#[test]
fn after_a_rotation_both_keys_work_until_the_old_one_expires() {
    let mut world = world();
    let lifetime = 90 * DAY_MS;
    let expires = Millis(world.engine.now().wall.0 + lifetime as i64);
    let old = create(&mut world, key(1, "acme", Some(expires))).id;
    world.pass(80 * DAY_MS);
    let Reply::KeyRotated { old: ended, new } = rotate(&mut world, old, 2) else { panic!() };
    let now = world.engine.now().wall;
    assert_eq!(ended.expires, Some(Millis(now.0 + DAY_MS as i64)));
    assert_eq!((ended.successor, new.rotated_from), (Some(new.id), Some(old)));
    assert_eq!(new.expires, Some(Millis(now.0 + lifetime as i64)));
    assert_eq!((&new.name, &new.tenant, new.permissions), {
        (&ended.name, &ended.tenant, ended.permissions)
    });
    world.crash(0);
    assert_eq!(state(&world, old), Some(KeyState::Active));
    assert_eq!(state(&world, new.id), Some(KeyState::Active));
    world.pass(DAY_MS);
    assert_eq!(state(&world, old), Some(KeyState::Expired));
    assert_eq!(state(&world, new.id), Some(KeyState::Active));
    let reply = rotate(&mut world, old, 3);
    assert_eq!(refusal(reply), Refusal::KeyEnded { state: KeyState::Expired });
}

#[test]
fn a_key_is_rotated_again_only_when_its_successor_is_revoked() {
    let mut world = world();
    let expires = Millis(world.engine.now().wall.0 + 90 * DAY_MS as i64);
    let old = create(&mut world, key(1, "acme", Some(expires))).id;
    let Reply::KeyRotated { new, .. } = rotate(&mut world, old, 2) else { panic!() };
    let reply = rotate(&mut world, old, 3);
    assert_eq!(refusal(reply), Refusal::KeyRotated { successor: new.id });
    world.apply(Command::RevokeKey(new.id));
    let Reply::KeyRotated { new: second, .. } = rotate(&mut world, old, 3) else { panic!() };
    // Not the single day that the old key has left.
    assert_eq!(second.expires.unwrap().since(second.created), 90 * DAY_MS as i64);
}

#[test]
fn keys_that_have_ended_are_forgotten_after_their_retention() {
    let mut world = world();
    let now = world.engine.now().wall;
    let expiring = create(&mut world, key(1, "acme", Some(Millis(now.0 + 1_000)))).id;
    let revoked = create(&mut world, key(2, "acme", None)).id;
    let kept = create(&mut world, key(3, "acme", None)).id;
    let first = create(&mut world, ApiKey { bootstrap: true, ..key(4, "acme", None) }).id;
    world.apply(Command::RevokeKey(revoked));
    world.apply(Command::RevokeKey(first));
    world.pass(30 * DAY_MS);
    assert_eq!(state(&world, revoked), None);
    assert_eq!(state(&world, expiring), Some(KeyState::Expired));
    world.crash(0);
    world.engine.take_key_changes();
    world.pass(2_000);
    assert_eq!(state(&world, expiring), None);
    assert_eq!(world.engine.take_key_changes(), [KeyChange::Forgotten(expiring)]);
    world.crash(0);
    assert_eq!(state(&world, expiring), None);
    assert_eq!(state(&world, kept), Some(KeyState::Active));
    assert_eq!(state(&world, first), Some(KeyState::Revoked));
    assert_eq!(world.engine.key_count(Some(&TenantId::parse("acme").unwrap())), 2);
}

#[test]
fn only_keys_that_have_ended_are_removed() {
    let mut world = world();
    let id = create(&mut world, key(1, "acme", None)).id;
    assert_eq!(refusal(world.apply(Command::RemoveKey(id))), Refusal::KeyActive);
    world.apply(Command::RevokeKey(id));
    assert!(matches!(world.apply(Command::RemoveKey(id)), Reply::Key(_)));
    assert_eq!(refusal(world.apply(Command::RemoveKey(id))), Refusal::UnknownKey);
    let first = create(&mut world, ApiKey { bootstrap: true, ..key(2, "acme", None) }).id;
    world.apply(Command::RevokeKey(first));
    assert_eq!(refusal(world.apply(Command::RemoveKey(first))), Refusal::KeyKept);
    world.crash(0);
    assert_eq!(world.engine.key_count(None), 1);
}

#[test]
fn a_tenants_cap_on_keys_leaves_others_theirs_and_is_no_dead_end() {
    let mut config = Config::default();
    config.caps.keys = Cap { total: 100, per_tenant: 2 };
    let mut world = World::with(config);
    world.pass(1);
    let first = create(&mut world, key(1, "acme", None)).id;
    create(&mut world, key(2, "acme", None));
    let over = || Command::CreateKey(Box::new(key(3, "acme", None)));
    let Refusal::CapReached(CapReached { capped, own, .. }) = refusal(world.apply(over())) else {
        panic!()
    };
    assert_eq!((capped, own), (Capped::Keys, 2));
    assert!(matches!(refusal(rotate(&mut world, first, 4)), Refusal::CapReached(_)));
    create(&mut world, key(5, "other", None));
    world.apply(Command::RevokeKey(first));
    world.apply(Command::RemoveKey(first));
    assert!(matches!(world.apply(over()), Reply::Key(_)));
}

#[test]
fn uses_are_written_and_never_go_back() {
    let mut world = world();
    let id = create(&mut world, key(1, "acme", None)).id;
    world.engine.take_key_changes();
    let touch = |at| Command::TouchKeys(vec![(id, Millis(at)), (text(9).id(), Millis(at))]);
    world.apply(touch(60_000));
    world.apply(touch(59_000));
    assert_eq!(world.written, 0);
    world.crash(0);
    assert_eq!(world.engine.key(&id).unwrap().last_used, Some(Millis(60_000)));
    // Whoever checks requests has reported it, and need not be told.
    assert_eq!(world.engine.take_key_changes(), []);
}

#[test]
fn keys_are_listed_by_owner_in_pages() {
    let mut world = world();
    let mut ids: Vec<KeyId> =
        (1..=5).map(|number| create(&mut world, key(number, "acme", None)).id).collect();
    create(&mut world, key(6, "aaaa", None));
    create(&mut world, ApiKey { tenant: None, ..key(7, "acme", None) });
    ids.sort();
    let acme = TenantId::parse("acme").unwrap();
    let page = |after: &str, skip| {
        let keys = world.engine.keys_after(Some(&acme), after, skip, 2);
        keys.iter().map(|key| key.id).collect::<Vec<_>>()
    };
    assert_eq!(page("", 0), ids[..2]);
    assert_eq!(page(ids[1].as_str(), 0), ids[2..4]);
    assert_eq!(page("", 4), ids[4..]);
    assert_eq!(page(ids[4].as_str(), 0), []);
    assert_eq!(world.engine.keys_after(None, "", 0, 100).len(), 7);
    assert_eq!((world.engine.key_count(Some(&acme)), world.engine.key_count(None)), (5, 7));
}

#[test]
fn the_keys_of_a_deleted_tenant_are_revoked() {
    let mut world = world();
    let tenant = TenantId::parse("acme").unwrap();
    let own = create(&mut world, key(1, "acme", None)).id;
    let others = create(&mut world, key(2, "other", None)).id;
    world.tenant("acme", json!({"max_concurrency": 5}));
    world.apply(Command::DeleteTenant(tenant, None));
    assert_eq!(state(&world, own), Some(KeyState::Revoked));
    assert_eq!(state(&world, others), Some(KeyState::Active));
}
