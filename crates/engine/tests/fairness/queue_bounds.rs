use crate::world::{World, job};
use rota_engine::{
    Backpressure, Bounds, Command, Enqueue, EventKind, QueueSettings, Refusal, Reply, WaiterId,
};
use rota_model::envelope::NewJob;
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

fn dropped(world: &World) -> Vec<rota_model::Seq> {
    let of = |event: &EventKind| match event {
        EventKind::QueueDropped { job, .. } => Some(job.seq),
        _ => None,
    };
    world.events.iter().filter_map(of).collect()
}

fn is_full(reply: &Reply) -> bool {
    matches!(reply, Reply::Refused(Refusal::QueueFull { retry_ms: Some(_), .. }))
}

#[test]
fn where_too_few_can_be_dropped_an_enqueue_is_refused() {
    let mut world = World::new();
    bound(&mut world, depth(5, Backpressure::DropOldest));
    let later = crate::world::Job { start_in: Some(60_000), ..job("a") };
    let taken = (0..100).filter(|_| !is_full(&world.try_enqueue(std::slice::from_ref(&later), 0)));
    assert_eq!(taken.count(), 5);
    assert!(world.has_event(|e| matches!(e, EventKind::QueueRejected { depth: 5, bound: 5, .. })));

    let mut world = World::new();
    bound(&mut world, depth(5, Backpressure::DropOldest));
    let first = world.enqueue(&job("a"), 1);
    world.enqueue(&later, 2);
    let second = world.enqueue(&job("b"), 2);
    assert!(is_full(&world.try_enqueue(&vec![job("c"); 4], 0)), "three can go");
    assert!(dropped(&world).is_empty(), "nothing goes for jobs that do not come in");
    world.enqueue(&job("c"), 3);
    assert_eq!(dropped(&world), [&first[..], &second[..]].concat());
    assert_eq!(world.engine.queue("default").unwrap().totals.of(State::Available), 3);
    let six = world.try_enqueue(&vec![job("c"); 6], 0);
    assert!(matches!(six, Reply::Refused(Refusal::QueueFull { retry_ms: None, .. })), "{six:?}");
}

#[test]
fn as_many_bytes_are_dropped_as_are_needed() {
    let mut world = World::new();
    bound(&mut world, Bounds { max_bytes: 10_000, ..depth(0, Backpressure::DropOldest) });
    let sized = |size, kind| crate::world::Job { size, ..job("a").kind(kind) };
    let small = world.enqueue(&sized(1_000, "s"), 9);
    world.enqueue(&sized(4_000, "l"), 1);
    assert_eq!(dropped(&world), small[..3]);
    world.enqueue(&sized(9_000, "s"), 1);
    assert_eq!(world.engine.queue("default").unwrap().bytes, 9_000);
    let big = sized(5_000, "s");
    assert!(!is_full(&world.try_enqueue(&[big.clone(), big.clone()], 0)));
    let three = world.try_enqueue(&[big.clone(), big.clone(), big], 0);
    assert!(matches!(three, Reply::Refused(Refusal::QueueFull { retry_ms: None, .. })));
}

#[test]
fn a_tenants_own_bound_drops_its_own_oldest() {
    let mut world = World::new();
    let bounds = Bounds { tenant_max_depth: 3, ..depth(0, Backpressure::DropOldest) };
    bound(&mut world, bounds);
    world.enqueue(&job("b"), 3);
    let gated = world.enqueue(&job("a").limit(crate::world::concurrency("k", 0)), 1);
    let urgent = world.enqueue(&job("a").priority(7), 1);
    world.enqueue(&job("a").kind("other"), 1);
    world.enqueue(&job("a"), 2);
    assert_eq!(dropped(&world), [gated[0], urgent[0]]);
    let shown = |world: &World, tenant: &str| world.engine.tenant(tenant).unwrap().jobs.depth();
    assert_eq!((shown(&world, "a"), shown(&world, "b")), (3, 3));

    bound(&mut world, Bounds { max_depth: 5, ..bounds });
    world.enqueue(&job("a"), 1);
    assert_eq!((shown(&world, "a"), shown(&world, "b")), (3, 2), "its own first, then the oldest");
    world.crash(5);
    world.enqueue(&job("c"), 1);
    assert_eq!((shown(&world, "a"), shown(&world, "b"), shown(&world, "c")), (3, 1, 1));
    let later = crate::world::Job { start_in: Some(60_000), ..job("d") };
    bound(&mut world, bounds);
    world.enqueue(&later, 3);
    assert!(is_full(&world.try_enqueue(&[job("d")], 0)));
}

#[test]
fn a_bound_that_is_lowered_holds_after_the_next_enqueue() {
    let mut world = World::new();
    world.enqueue(&job("a"), 50);
    bound(&mut world, depth(10, Backpressure::DropOldest));
    world.enqueue(&job("b"), 2);
    assert_eq!(world.engine.queue("default").unwrap().totals.of(State::Available), 10);
}

#[test]
fn an_enqueue_that_waits_brings_in_no_job_whose_id_was_taken_meanwhile() {
    let mut world = World::new();
    bound(&mut world, depth(1, Backpressure::Block));
    world.enqueue(&job("a"), 1);
    let chosen = NewJob { id_given: true, ..world.make(&job("a")) };
    let (waits, elsewhere) = (chosen.clone(), world.make(&job("a").queue("other")));
    let elsewhere = NewJob { id: chosen.id, id_given: true, ..elsewhere };
    let wait = Some((WaiterId(1), 60_000));
    let reply = world.apply(Command::Enqueue(Enqueue { jobs: vec![waits], wait }));
    assert!(matches!(reply, Reply::Waiting), "{reply:?}");
    let reply = world.apply(Command::Enqueue(Enqueue { jobs: vec![elsewhere], wait: None }));
    assert!(matches!(reply, Reply::Enqueued(_)), "{reply:?}");
    let Some((_, Reply::Refused(refusal))) = world.woken.pop() else { panic!("it still waits") };
    assert_eq!(refusal, Refusal::IdTaken { id: chosen.id, index: 0 });
}
