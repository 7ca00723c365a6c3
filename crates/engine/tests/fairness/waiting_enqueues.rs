//! Enqueues that wait for room.

use rota_engine::{Backpressure, Bounds, Command, Enqueue, QueueSettings, Reply, WaiterId};
use rota_model::QueueName;
use rota_model::envelope::NewJob;

use crate::world::{World, job};

fn bound(world: &mut World, max_depth: u64, tenant_max_depth: u64) {
    let bounds = Bounds {
        max_depth,
        max_bytes: 0,
        tenant_max_depth,
        tenant_max_bytes: 0,
        strategy: Backpressure::Block,
        warn_at: 1_000,
    };
    let settings = QueueSettings { bounds: Some(bounds), ..QueueSettings::default() };
    world.apply(Command::ConfigureQueue(QueueName::default_queue(), settings));
}

fn waits(world: &mut World, who: &'static str, jobs: usize) {
    let reply = world.try_enqueue(&vec![job(who); jobs], 60_000);
    assert!(matches!(reply, Reply::Waiting), "{reply:?}");
}

/// How many enqueues were let in since the last call.
fn let_in(world: &mut World) -> usize {
    let woken = std::mem::take(&mut world.woken);
    woken.iter().filter(|(_, reply)| matches!(reply, Reply::Enqueued(_))).count()
}

#[test]
fn one_that_does_not_fit_keeps_no_other_out() {
    let mut world = World::new();
    bound(&mut world, 10, 3);
    world.enqueue(&job("a"), 3);
    world.enqueue(&job("b"), 3);
    for who in ["a", "a", "b"] {
        waits(&mut world, who, 1);
    }
    // Only b has room again, and is behind both of a's.
    world.fetch_with(&["default"], 1, |fetch| fetch.tenant = rota_model::TenantId::parse("b").ok());
    assert_eq!(let_in(&mut world), 1);
    world.fetch_with(&["default"], 2, |fetch| fetch.tenant = rota_model::TenantId::parse("a").ok());
    assert_eq!(let_in(&mut world), 2);
}

#[test]
fn a_batch_that_needs_more_room_keeps_no_smaller_one_out() {
    let mut world = World::new();
    bound(&mut world, 4, 0);
    world.enqueue(&job("a"), 4);
    waits(&mut world, "a", 3);
    waits(&mut world, "b", 1);
    world.fetch(1);
    assert_eq!(let_in(&mut world), 1);
    world.fetch(3);
    assert_eq!(let_in(&mut world), 1);
}

#[test]
fn very_many_are_tried_over_several_steps() {
    let mut world = World::new();
    bound(&mut world, 500, 1);
    for who in ["a", "b"] {
        world.enqueue(&job(who), 1);
    }
    for _ in 0..99 {
        waits(&mut world, "a", 1);
    }
    waits(&mut world, "b", 1);
    world.fetch_with(&["default"], 1, |fetch| fetch.tenant = rota_model::TenantId::parse("b").ok());
    assert_eq!(let_in(&mut world), 0, "the first 64 are a's");
    assert_eq!(world.engine.wake_in_ms(), Some(0));
    world.pass(0);
    assert_eq!(let_in(&mut world), 1);
    assert_ne!(world.engine.wake_in_ms(), Some(0));
    // All of them come in at once, and no step has more than its part.
    bound(&mut world, 500, 0);
    assert_eq!(let_in(&mut world), 64);
    world.pass(0);
    assert_eq!(let_in(&mut world), 35);
}

#[test]
fn one_whose_ids_the_client_chose_is_answered_once() {
    let mut world = World::new();
    bound(&mut world, 1, 0);
    world.enqueue(&job("a"), 1);
    let chosen = NewJob { id_given: true, ..world.make(&job("b")) };
    let wait = Some((WaiterId(7), 60_000));
    let reply = world.apply(Command::Enqueue(Enqueue { jobs: vec![chosen], wait }));
    assert!(matches!(reply, Reply::Waiting), "{reply:?}");
    world.fetch(1);
    assert_eq!(world.woken.len(), 1, "{:?}", world.woken);
    assert_eq!(let_in(&mut world), 1);
}
