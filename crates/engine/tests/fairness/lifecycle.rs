//! What each command does to a job, and that a restart agrees.

use rota_engine::{
    Beat, BeatReply, Command, Config, DeadLetterLimits, Enqueue, Failure, HandlerCode, Holder,
    Nack, Prune, Refusal, Registration, Reply, Selected, Settle, Target, Unchanged,
};
use rota_model::{Directive, Ending, Millis, Overdue, QueueName, Seq, State, TenantId, WorkerId};

use crate::world::{World, job};

const WORKER: &str = "w1";
/// Shorter than the execution timeout, so that a reservation that ends is a lost worker.
const VISIBILITY_MS: u64 = 10_000;

fn worker() -> WorkerId {
    WorkerId::parse(WORKER).unwrap()
}

fn changed(world: &mut World, command: impl FnOnce(Vec<Target>) -> Command, seq: Seq) -> Outcome {
    let target = world.target(seq);
    match world.apply(command(vec![target])) {
        Reply::Changed(mut all) => all.remove(0).map(|changed| (changed.before, changed.after)),
        other => panic!("{other:?}"),
    }
}

type Outcome = Result<(State, Option<State>), Refusal>;

fn fetch_as_worker(world: &mut World) -> Seq {
    let claimed = world.fetch_with(&["default"], 1, |fetch| {
        fetch.worker = Some(worker());
        fetch.visibility_ms = Some(VISIBILITY_MS);
    });
    claimed[0].seq
}

fn about() -> Registration {
    Registration { worker: worker(), ..Registration::named(worker()) }
}

fn beat(world: &mut World, jobs: &[Seq], visibility_ms: Option<u64>) -> BeatReply {
    let jobs = jobs.iter().map(|seq| world.target(*seq)).collect();
    let beat = Beat { worker: worker(), state: None, jobs, visibility_ms, about: about().into() };
    match world.apply(Command::Beat(beat)) {
        Reply::Beat(reply) => reply,
        other => panic!("{other:?}"),
    }
}

fn pending(world: &mut World) -> Seq {
    let mut new = world.make(&job("a"));
    new.pending = true;
    let seq = world.engine.next_seq();
    let reply = world.apply(Command::Enqueue(Enqueue { jobs: vec![new], wait: None }));
    assert!(matches!(reply, Reply::Enqueued(_)), "{reply:?}");
    seq
}

fn discard(world: &mut World) -> Seq {
    let seq = world.fetch(1)[0].seq;
    let failure = Failure {
        kind: "E".into(),
        code: Some(HandlerCode::DeadLetter),
        retryable: true,
        limited_until: None,
        json: br#""type":"E""#.to_vec().into(),
    };
    let job = world.target(seq);
    let nack = Nack { job, holder: Holder::default(), failure, requeue: false, proven: false };
    world.apply(Command::Settle(vec![Settle::Nack(nack)]));
    assert_eq!(world.done[&seq].ending, Ending::DeadLetter);
    seq
}

#[test]
fn cancelling_ends_a_waiting_or_an_active_job_and_no_finished_one() {
    let mut world = World::new();
    let seqs = world.enqueue(&job("a"), 2);
    let waiting = changed(&mut world, Command::Cancel, seqs[1]);
    assert_eq!(waiting, Ok((State::Available, Some(State::Cancelled))));
    world.fetch(1);
    let active = changed(&mut world, Command::Cancel, seqs[0]);
    assert_eq!(active, Ok((State::Active, Some(State::Cancelled))));
    let finished = changed(&mut world, Command::Cancel, seqs[0]);
    assert_eq!(finished, Err(Refusal::Terminal { state: State::Cancelled }));
    world.crash(0);
    assert!(world.fetch(5).is_empty(), "a cancelled job does not come back");
}

#[test]
fn a_worker_learns_of_a_cancelled_job_at_its_heartbeat() {
    let mut world = World::new();
    world.enqueue(&job("a"), 2);
    let (first, second) = (fetch_as_worker(&mut world), fetch_as_worker(&mut world));
    changed(&mut world, Command::Cancel, first).unwrap();
    let reply = beat(&mut world, &[first, second], None);
    assert_eq!((reply.cancelled.len(), reply.extended.len(), reply.lost.len()), (1, 1, 0));
}

#[test]
fn activating_makes_a_pending_job_available_once() {
    let mut world = World::new();
    let seq = pending(&mut world);
    assert!(world.fetch(1).is_empty(), "a pending job is not handed out");
    world.crash(0);
    let first = changed(&mut world, Command::Activate, seq);
    assert_eq!(first, Ok((State::Pending, Some(State::Available))));
    let second = changed(&mut world, Command::Activate, seq);
    assert_eq!(second, Err(Refusal::NotPending { state: State::Available }));
    assert_eq!(world.fetch(1)[0].seq, seq);
}

#[test]
fn retrying_gives_a_discarded_job_all_its_attempts_again() {
    let mut world = World::new();
    world.enqueue(&job("a"), 1);
    let seq = discard(&mut world);
    assert_eq!(world.errors.len(), 1);
    world.crash(0);
    let outcome = changed(&mut world, Command::Retry, seq);
    assert_eq!(outcome, Ok((State::Discarded, Some(State::Available))));
    assert_eq!(world.errors.len(), 1, "its errors are kept");
    world.crash(0);
    let claimed = world.fetch(1);
    assert_eq!((claimed[0].seq, claimed[0].attempt), (seq, 1));
    world.ack(seq);
    let completed = changed(&mut world, Command::Retry, seq);
    assert_eq!(completed, Err(Refusal::NotRetryable { state: State::Completed }));
}

#[test]
fn a_deletion_spares_jobs_that_have_changed_since_they_were_selected() {
    let mut world = World::new();
    world.enqueue(&job("a"), 1);
    let seq = discard(&mut world);
    let by = Millis(i64::MAX);
    let unchanged = |selected| Unchanged { selected, by };
    let delete = |only| move |targets| Command::DeleteOnly(targets, unchanged(only));
    let ended = Selected::Ended(Some(State::Discarded));
    changed(&mut world, Command::Retry, seq).unwrap();
    let spared = Err(Refusal::NoLongerSelected { state: State::Available });
    for only in [Selected::DeadLetter, Selected::Ended(None), ended] {
        assert_eq!(changed(&mut world, delete(only), seq), spared, "{only:?}");
    }
    assert_eq!(world.fetch(1)[0].seq, seq, "the retried job is still there");
    let spared = Err(Refusal::NoLongerSelected { state: State::Active });
    assert_eq!(changed(&mut world, delete(Selected::Waiting), seq), spared);
    world.ack(seq);
    let spared = Err(Refusal::NoLongerSelected { state: State::Completed });
    for only in [Selected::DeadLetter, Selected::Waiting, ended] {
        assert_eq!(changed(&mut world, delete(only), seq), spared, "{only:?}");
    }
    let deleted = changed(&mut world, delete(Selected::Ended(None)), seq);
    assert_eq!(deleted, Ok((State::Completed, None)));
}

#[test]
fn a_job_that_ended_again_since_it_was_selected_is_neither_deleted_nor_retried() {
    let mut world = World::new();
    world.enqueue(&job("a"), 1);
    let seq = discard(&mut world);
    let by = world.done[&seq].at;
    world.pass(1_000);
    changed(&mut world, Command::Retry, seq).unwrap();
    assert_eq!(discard(&mut world), seq);
    let spared = Err(Refusal::NoLongerSelected { state: State::Discarded });
    for selected in [Selected::DeadLetter, Selected::Ended(Some(State::Discarded))] {
        let unchanged = Unchanged { selected, by };
        let delete = |targets| Command::DeleteOnly(targets, unchanged);
        assert_eq!(changed(&mut world, delete, seq), spared, "{selected:?}");
        let retry = |targets| Command::RetryOnly(targets, unchanged);
        assert_eq!(changed(&mut world, retry, seq), spared, "{selected:?}");
    }
    let now = Unchanged { selected: Selected::DeadLetter, by: world.wall() };
    let retried = changed(&mut world, |targets| Command::RetryOnly(targets, now), seq);
    assert_eq!(retried, Ok((State::Discarded, Some(State::Available))));
    world.fetch(1);
    changed(&mut world, Command::Cancel, seq).unwrap();
    let spared = Err(Refusal::NoLongerSelected { state: State::Cancelled });
    let retried = changed(&mut world, |targets| Command::RetryOnly(targets, now), seq);
    assert_eq!(retried, spared, "a cancelled job is not in the dead letter");
}

#[test]
fn pruning_spares_a_job_that_was_discarded_again_since_it_was_listed() {
    let config = Config::default();
    let dead_letter = DeadLetterLimits { max_count: 1, ..config.dead_letter };
    let mut world = World::with(Config { dead_letter, ..config });
    world.enqueue(&job("a"), 2);
    let first = discard(&mut world);
    world.pass(1_000);
    let second = discard(&mut world);
    let through = world.done[&first].at;
    world.pass(1_000);
    changed(&mut world, Command::Retry, first).unwrap();
    assert_eq!(discard(&mut world), first);
    let shard = world.done[&first].dead.as_ref().unwrap().shard;
    let prune = |world: &World, seq, through| {
        let jobs = vec![world.target(seq)];
        Command::Prune(Box::new(Prune { shard, jobs, through, oldest: None }))
    };
    let stale = prune(&world, first, through);
    assert!(matches!(world.apply(stale), Reply::Forgotten(0)), "it is the newest now");
    let oldest = prune(&world, second, world.done[&second].at);
    assert!(matches!(world.apply(oldest), Reply::Forgotten(1)));
    assert_eq!((world.state(first), world.state(second)), (Some(State::Discarded), None));
}

#[test]
fn deleting_removes_waiting_and_finished_jobs_but_no_active_one() {
    let mut world = World::new();
    let seqs = world.enqueue(&job("a"), 3);
    let first = world.fetch(1)[0].seq;
    assert_eq!(changed(&mut world, Command::Delete, first), Err(Refusal::StillActive));
    world.ack(first);
    assert_eq!(changed(&mut world, Command::Delete, first), Ok((State::Completed, None)));
    assert_eq!(changed(&mut world, Command::Delete, seqs[1]), Ok((State::Available, None)));
    assert_eq!((world.state(first), world.state(seqs[1])), (None, None));
    world.crash(0);
    assert_eq!(world.fetch(5).len(), 1);
}

#[test]
fn a_heartbeat_extends_the_reservation_of_the_jobs_it_names() {
    let mut world = World::new();
    world.enqueue(&job("a"), 2);
    let (kept, lapsed) = (fetch_as_worker(&mut world), fetch_as_worker(&mut world));
    world.pass(VISIBILITY_MS - 1_000);
    let reply = beat(&mut world, &[kept], Some(60_000));
    assert_eq!(reply.extended.len(), 1);
    assert_eq!(world.due(kept), Some(Millis(world.wall().0 + 60_000)));
    world.pass(1_000);
    assert_eq!(world.state(lapsed), Some(State::Available), "its reservation has ended");
    assert_eq!(world.state(kept), Some(State::Active));
    let late = beat(&mut world, &[lapsed], None);
    assert_eq!(late.lost.len(), 1, "the worker does not hold it any more");
}

#[test]
fn a_reservation_that_ends_with_the_last_attempt_ends_the_job() {
    let mut world = World::new();
    let seq = world.enqueue(&job("a"), 1)[0];
    let most = 3;
    for attempt in 1..=most {
        let visibility = Some(VISIBILITY_MS);
        let claimed = world.fetch_with(&["default"], 1, |fetch| fetch.visibility_ms = visibility);
        assert_eq!(claimed[0].attempt, attempt);
        world.pass(VISIBILITY_MS);
    }
    assert_eq!(world.state(seq), Some(State::Discarded));
    assert_eq!(world.errors.len(), most as usize);
}

#[test]
fn jobs_whose_retention_has_passed_are_forgotten() {
    let mut world = World::new();
    let seqs = world.enqueue(&job("a"), 2);
    for _ in 0..2 {
        let seq = world.fetch(1)[0].seq;
        world.ack(seq);
    }
    let through = world.done[&seqs[0]].purge_at;
    let overdue = Overdue { jobs: vec![world.done[&seqs[0]].clone()], through };
    let reply = world.apply(Command::Forget(overdue));
    assert!(matches!(reply, Reply::Forgotten(1)), "{reply:?}");
    assert_eq!((world.state(seqs[0]), world.purged), (None, through));
    let queue = world.engine.queue(&QueueName::parse("default").unwrap()).unwrap();
    assert_eq!(queue.totals.of(State::Completed), 1);
}

#[test]
fn a_worker_that_leaves_gives_its_jobs_back() {
    let mut world = World::new();
    let seq = world.enqueue(&job("a"), 1)[0];
    world.apply(Command::Register(about().into()));
    fetch_as_worker(&mut world);
    let stranger = Some(TenantId::parse("other").unwrap());
    let refused = world.apply(Command::Deregister(worker(), stranger));
    assert!(matches!(refused, Reply::Refused(_)), "{refused:?}");
    let reply = world.apply(Command::Deregister(worker(), None));
    assert!(matches!(reply, Reply::Done), "{reply:?}");
    world.crash(0);
    assert!(world.engine.worker(&worker(), None).is_none());
    assert!(matches!(world.state(seq), Some(State::Available | State::Active)));
}

#[test]
fn a_silent_worker_is_dropped_and_its_jobs_are_available_again() {
    let mut world = World::new();
    let seq = world.enqueue(&job("a"), 1)[0];
    world.apply(Command::Register(about().into()));
    fetch_as_worker(&mut world);
    beat(&mut world, &[seq], None);
    let too_early = world.apply(Command::DropStaleWorker(worker()));
    assert!(matches!(too_early, Reply::Refused(_)), "{too_early:?}");
    world.pass(world.config.heartbeat_timeout_ms);
    world.apply(Command::DropStaleWorker(worker()));
    assert_eq!(world.state(seq), Some(State::Available));
}

#[test]
fn a_quieted_worker_is_told_so_and_gets_no_jobs() {
    let mut world = World::new();
    world.enqueue(&job("a"), 1);
    world.apply(Command::Register(about().into()));
    world.apply(Command::Direct(worker(), Directive::Quiet));
    world.crash(0);
    assert_eq!(beat(&mut world, &[], None).directive, Directive::Quiet);
    let claimed = world.fetch_with(&["default"], 1, |fetch| fetch.worker = Some(worker()));
    assert!(claimed.is_empty());
    world.apply(Command::Direct(worker(), Directive::Running));
    fetch_as_worker(&mut world);
}

#[test]
fn maintenance_accepts_jobs_and_hands_none_out() {
    let mut world = World::new();
    let maintain = |enabled| Command::Maintain { enabled, reason: None, expected_ms: None };
    world.apply(maintain(true));
    world.enqueue(&job("a"), 1);
    assert!(world.fetch(1).is_empty());
    world.crash(0);
    assert!(world.fetch(1).is_empty(), "it lasts over a restart");
    world.apply(maintain(false));
    assert_eq!(world.fetch(1).len(), 1);
}

#[test]
fn a_paused_queue_accepts_jobs_and_hands_none_out() {
    let mut world = World::new();
    let queue = || QueueName::parse("default").unwrap();
    world.enqueue(&job("a"), 1);
    world.apply(Command::PauseQueue(queue()));
    world.enqueue(&job("a"), 1);
    world.crash(0);
    assert!(world.fetch(5).is_empty());
    world.apply(Command::ResumeQueue(queue()));
    assert_eq!(world.fetch(5).len(), 2);
}
