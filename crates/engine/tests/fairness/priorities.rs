//! Another priority for a waiting job: its new place, what stays, and who is refused.

use rota_engine::{Command, Enqueue, EventKind, NewPriority, Refusal, Reply, SeenJob, Target};
use rota_model::row::JobRow;
use rota_model::{Live, Seq, State};
use serde_json::json;

use crate::world::{Job, World, job};

/// Not the length that jobs have before.
const SIZE: usize = 23;

fn seen(target: &Target) -> Live {
    match &target.now {
        JobRow::Live(live) => live.clone(),
        JobRow::Done(done) => Live::ready(done.seq, done.class, done.enqueued, done.bytes),
    }
}

fn set_as(world: &mut World, seq: Seq, priority: i16, seen: &Live) -> Result<State, Refusal> {
    let target = world.target(seq);
    let new = NewPriority { priority, body: vec![b'y'; SIZE].into(), seen: SeenJob::of(seen) };
    match world.apply(Command::SetPriority(vec![target], new.into())) {
        Reply::Changed(mut all) => all.remove(0).map(|changed| {
            assert_eq!(changed.after, Some(changed.before), "its state is the same");
            changed.before
        }),
        other => panic!("{other:?}"),
    }
}

fn set(world: &mut World, seq: Seq, priority: i16) -> Result<State, Refusal> {
    let seen = seen(&world.target(seq));
    set_as(world, seq, priority, &seen)
}

fn order(world: &mut World, count: usize) -> Vec<Seq> {
    (0..count).map(|_| world.fetch(1)[0].seq).collect()
}

fn bytes(world: &World) -> u64 {
    let tenant = rota_model::TenantId::parse("a").unwrap();
    world.engine.tenant(&tenant).unwrap().jobs.bytes
}

#[test]
fn a_waiting_job_is_served_by_its_new_priority_and_there_by_its_number() {
    for crash in [false, true] {
        let mut world = World::new();
        let low = world.enqueue(&job("a"), 3);
        let high = world.enqueue(&job("a").priority(5), 1);
        let later = world.enqueue(&job("a"), 1);
        assert_eq!(set(&mut world, low[1], 5), Ok(State::Available));
        assert_eq!(set(&mut world, high[0], -1), Ok(State::Available));
        assert_eq!(set(&mut world, later[0], 5), Ok(State::Available));
        assert_eq!(bytes(&world), 3 * SIZE as u64 + 2 * 10, "the new bodies are counted");
        if crash {
            world.crash(0);
        }
        let expected = [low[1], later[0], low[0], low[2], high[0]];
        assert_eq!(order(&mut world, 5), expected, "after a crash: {crash}");
    }
}

#[test]
fn the_change_is_told_once_and_the_same_priority_changes_nothing() {
    let mut world = World::new();
    let seq = world.enqueue(&job("a").priority(2), 1)[0];
    set(&mut world, seq, 7).unwrap();
    set(&mut world, seq, 7).unwrap();
    let told: Vec<_> = world
        .events
        .iter()
        .filter_map(|kind| match kind {
            EventKind::PriorityChanged { job, previous } => {
                Some((job.seq, *previous, job.class.priority))
            }
            _ => None,
        })
        .collect();
    assert_eq!(told, [(seq, 2, 7)]);
}

#[test]
fn scheduled_and_pending_jobs_come_at_their_new_priority() {
    let mut world = World::new();
    let available = world.enqueue(&job("a"), 1)[0];
    let scheduled = world.enqueue(&Job { start_in: Some(500), ..job("a") }, 1)[0];
    let pending = world.engine.next_seq();
    let new = rota_model::envelope::NewJob { pending: true, ..world.make(&job("a")) };
    world.apply(Command::Enqueue(Enqueue { jobs: vec![new], wait: None }));
    assert_eq!(set(&mut world, available, 1), Ok(State::Available));
    assert_eq!(set(&mut world, scheduled, 3), Ok(State::Scheduled));
    assert_eq!(set(&mut world, pending, 2), Ok(State::Pending));
    world.crash(0);
    let target = world.target(pending);
    world.apply(Command::Activate(vec![target]));
    world.pass(60_000);
    assert_eq!(order(&mut world, 3), [scheduled, pending, available]);
}

#[test]
fn active_retried_finished_and_changed_jobs_are_refused() {
    let mut world = World::new();
    let seqs = world.enqueue(&job("a"), 2);
    let before = seen(&world.target(seqs[1]));
    world.fetch(1);
    let refused = |state| Err(Refusal::NotWaiting { state });
    assert_eq!(set(&mut world, seqs[0], 1), refused(State::Active));
    world.nack(seqs[0], None);
    assert_eq!(set(&mut world, seqs[0], 1), refused(State::Retryable));
    world.pass(60_000);
    world.fetch(1);
    world.ack(seqs[0]);
    assert_eq!(set(&mut world, seqs[0], 1), refused(State::Completed));
    set(&mut world, seqs[1], 1).unwrap();
    let changed = Err(Refusal::NoLongerSelected { state: State::Available });
    assert_eq!(set_as(&mut world, seqs[1], 9, &before), changed, "its body is another one");
}

#[test]
fn the_cap_of_the_tenant_holds() {
    let mut world = World::new();
    world.tenant("a", json!({"max_priority": 3}));
    let capped = world.enqueue(&job("a"), 1)[0];
    let other = world.enqueue(&job("b").priority(4), 1)[0];
    set(&mut world, capped, 100).unwrap();
    assert_eq!(order(&mut world, 2), [other, capped]);
}

#[test]
fn a_rate_limit_goes_with_the_job() {
    let mut world = World::new();
    let limited = job("a").limit(json!({"key": "k", "concurrency": 1}));
    let seqs = world.enqueue(&limited, 3);
    set(&mut world, seqs[2], 5).unwrap();
    assert_eq!(world.fetch(5).iter().map(|one| one.seq).collect::<Vec<_>>(), [seqs[2]]);
    set(&mut world, seqs[1], 5).unwrap();
    assert!(world.fetch(5).is_empty(), "the key has one slot");
    world.ack(seqs[2]);
    assert_eq!(world.fetch(5)[0].seq, seqs[1]);
}
