use crate::world::{World, job};
use rota_engine::{Backpressure, Bounds, Command, EventKind, QueueSettings, Refusal, Reply};
use rota_model::{QueueName, State};

fn bound(world: &mut World, bounds: Bounds) {
    let settings = QueueSettings { bounds: Some(bounds), ..QueueSettings::default() };
    world.apply(Command::ConfigureQueue(QueueName::default_queue(), settings));
}

fn depth(max_depth: u64, strategy: Backpressure) -> Bounds {
    Bounds {
        max_depth,
        max_bytes: 0,
        tenant_max_depth: 0,
        tenant_max_bytes: 0,
        strategy,
        warn_at: 800,
    }
}

#[test]
fn a_full_queue_rejects_warns_and_clears() {
    let mut world = World::new();
    bound(&mut world, depth(5, Backpressure::Reject));
    world.enqueue(&job("a"), 4);
    assert!(
        world.has_event(|e| matches!(e, EventKind::QueueNearlyFull { depth: 4, bound: 5, .. }))
    );
    let reply = world.try_enqueue(&[job("a"), job("b")], 0);
    assert!(
        matches!(reply, Reply::Refused(Refusal::QueueFull { depth: 4, bound: 5, .. })),
        "{reply:?}"
    );
    assert!(world.has_event(|e| matches!(e, EventKind::QueueRejected { .. })));
    world.enqueue(&job("b"), 1);
    world.served(3);
    assert!(world.has_event(|e| matches!(e, EventKind::QueueCleared { .. })));
}

#[test]
fn an_enqueue_waits_for_room() {
    let mut world = World::new();
    bound(&mut world, depth(2, Backpressure::Block));
    world.enqueue(&job("a"), 2);
    assert!(matches!(world.try_enqueue(&[job("b"), job("b")], 10_000), Reply::Waiting));
    assert!(matches!(world.try_enqueue(&[job("b")], 0), Reply::Refused(_)));
    let first = world.fetch(1).remove(0);
    assert!(world.woken.is_empty(), "one place is not enough for two");
    world.fetch(1);
    assert!(
        matches!(&world.woken[..], [(_, Reply::Enqueued(admission))] if admission.jobs.len() == 2)
    );
    world.ack(first.seq);
    world.woken.clear();
    assert!(matches!(world.try_enqueue(&[job("b")], 1_000), Reply::Waiting));
    world.pass(1_000);
    assert!(matches!(&world.woken[..], [(_, Reply::Refused(Refusal::QueueFull { .. }))]));
}

#[test]
fn the_oldest_go_where_freshness_counts() {
    let mut world = World::new();
    let old = world.enqueue(&job("a"), 3);
    bound(&mut world, depth(3, Backpressure::DropOldest));
    world.enqueue(&job("b").priority(-5), 2);
    let left = world.fetch(10);
    assert_eq!(left.len(), 3);
    assert_eq!(left[0].seq, old[2]);
    assert_eq!(world.engine.queue("default").unwrap().totals.of(State::Discarded), 2);
    assert!(world.has_event(|e| matches!(e, EventKind::QueueDropped { .. })));
}

#[test]
fn bytes_are_bounded_and_counted_to_nothing() {
    let mut world = World::new();
    let bounds = Bounds { max_bytes: 10_000, ..depth(0, Backpressure::Reject) };
    bound(&mut world, bounds);
    let big = crate::world::Job { size: 4_000, ..job("a") };
    world.enqueue(&big, 2);
    assert!(matches!(
        world.try_enqueue(std::slice::from_ref(&big), 0),
        Reply::Refused(Refusal::QueueFull { in_bytes: true, .. })
    ));
    assert_eq!(world.engine.queue("default").unwrap().bytes, 8_000);
    world.crash(5);
    assert_eq!(world.engine.queue("default").unwrap().bytes, 8_000);
    world.served(2);
    assert_eq!(world.engine.queue("default").unwrap().bytes, 0);
    assert_eq!(world.engine.tenant("a").unwrap().jobs.bytes, 0);
}

#[test]
fn each_tenants_part_has_its_own_bound() {
    let mut world = World::new();
    bound(&mut world, Bounds { tenant_max_depth: 2, ..depth(0, Backpressure::Reject) });
    world.enqueue(&job("a"), 2);
    assert!(matches!(
        world.try_enqueue(&[job("a")], 0),
        Reply::Refused(Refusal::QueueFull { tenant: Some(_), .. })
    ));
    world.enqueue(&job("b"), 2);
}
