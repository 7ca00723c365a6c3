use rota_engine::{
    Backpressure, Bounds, Command, Enqueue, QueueSettings, Refusal, Reply, WaiterId,
};
use rota_model::envelope::NewJob;
use rota_model::{Class, JobType, Policy, QueueName, Seq, State, TenantId};

use super::super::ask::{Answer, Ask, Unavailable};
use super::super::commit_loop::StoreReport;
use super::super::test_runtime::TestRuntime;
use super::*;

fn job(given: Option<JobId>) -> NewJob {
    NewJob {
        id: given.unwrap_or(JobId::v7(1, 1)),
        id_given: given.is_some(),
        class: Class {
            queue: QueueName::default_queue(),
            kind: JobType::parse("t").unwrap(),
            tenant: TenantId::default_tenant(),
            priority: 0,
            policy: Policy::default().into(),
        },
        start_at: None,
        expires: None,
        pending: false,
        proven: false,
        body: bytes::Bytes::from_static(br#""type":"t","args":[]"#),
    }
}

fn enqueue(given: Option<JobId>) -> Ask {
    Ask::Command(Command::Enqueue(Enqueue { jobs: vec![job(given)], wait: None }))
}

fn cancel(id: JobId) -> Ask {
    Ask::Command(Command::Cancel(vec![id]))
}

/// A committed job that the engine thread has not in memory.
fn stored(runtime: &mut TestRuntime) -> JobId {
    let answer = runtime.ask(enqueue(None));
    let id = accepted(runtime.answer(answer));
    runtime.catch_up();
    id
}

fn accepted(answer: Answer) -> JobId {
    match answer {
        Answer::Reply(Reply::Enqueued(admission)) => admission.jobs[0].id,
        other => panic!("{other:?}"),
    }
}

fn cancelled(answer: Answer) -> Result<State, Refusal> {
    match answer {
        Answer::Reply(Reply::Changed(mut results)) => {
            results.pop().unwrap().map(|changed| changed.after.unwrap())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_that_needs_no_read_overtakes_one_that_does() {
    let mut runtime = TestRuntime::start();
    let id = stored(&mut runtime);
    let first = runtime.ask(cancel(id));
    let second = runtime.ask(enqueue(None));
    // Nothing has been read yet.
    accepted(runtime.answer(second));
    let facts = runtime.read_facts();
    runtime.resume(facts);
    assert_eq!(cancelled(runtime.answer(first)), Ok(State::Cancelled));
    runtime.stop();
}

#[test]
fn facts_are_corrected_by_what_the_view_has_applied_since_they_were_read() {
    let mut runtime = TestRuntime::start();
    let id = stored(&mut runtime);
    let (first, second) = (runtime.ask(cancel(id)), runtime.ask(cancel(id)));
    let mut facts = runtime.read_facts();
    assert_eq!(facts.len(), 2, "both are read while the job is available");
    let late = facts.pop();
    runtime.resume(facts);
    assert_eq!(cancelled(runtime.answer(first)), Ok(State::Cancelled));
    runtime.catch_up();
    runtime.resume(late);
    let refusal = Refusal::Terminal { state: State::Cancelled };
    assert_eq!(cancelled(runtime.answer(second)), Err(refusal));
    runtime.stop();
}

#[test]
fn an_id_is_taken_once_however_many_requests_were_told_that_it_is_free() {
    let mut runtime = TestRuntime::start();
    let id = JobId::v7(7, 7);
    let (first, second) = (runtime.ask(enqueue(Some(id))), runtime.ask(enqueue(Some(id))));
    let mut facts = runtime.read_facts();
    let late = facts.pop();
    runtime.resume(facts);
    assert_eq!(accepted(runtime.answer(first)), id);
    runtime.catch_up();
    runtime.resume(late);
    let second = runtime.answer(second);
    let refusal = Refusal::IdTaken { id, index: 0 };
    assert!(
        matches!(&second, Answer::Reply(Reply::Refused(given)) if *given == refusal),
        "{second:?}"
    );
    runtime.stop();
}

#[test]
fn a_job_in_flight_is_known_before_the_view_has_it() {
    let mut runtime = TestRuntime::start();
    let enqueued = runtime.ask(enqueue(None));
    runtime.release();
    let id = accepted(enqueued.blocking_recv().unwrap());
    // The engine thread has not heard yet that the view has it.
    let answer = runtime.ask(cancel(id));
    assert_eq!(runtime.engine_loop.outstanding, 0, "nothing is read");
    assert_eq!(cancelled(runtime.answer(answer)), Ok(State::Cancelled));
    runtime.stop();
}

#[test]
fn what_was_read_before_the_engine_was_rebuilt_is_read_again() {
    let mut runtime = TestRuntime::start();
    let id = stored(&mut runtime);
    let (first, second) = (runtime.ask(cancel(id)), runtime.ask(cancel(id)));
    let mut facts = runtime.read_facts();
    let late = facts.pop();
    runtime.resume(facts);
    assert_eq!(cancelled(runtime.answer(first)), Ok(State::Cancelled));
    runtime.catch_up();
    runtime.engine_loop.handle_store_report(StoreReport::DiskFull);
    runtime.resume(late);
    assert_eq!(runtime.engine_loop.outstanding, 1, "it is in the stage again");
    let facts = runtime.read_facts();
    runtime.resume(facts);
    let refusal = Refusal::Terminal { state: State::Cancelled };
    assert_eq!(cancelled(runtime.answer(second)), Err(refusal));
    runtime.stop();
}

#[test]
fn an_enqueue_whose_client_goes_away_in_the_stage_does_not_wait() {
    let mut runtime = TestRuntime::start();
    let bounds = Bounds {
        max_depth: 1,
        max_bytes: 0,
        tenant_max_depth: 0,
        tenant_max_bytes: 0,
        strategy: Backpressure::Block,
        warn_at: 1_000,
    };
    let settings = QueueSettings { bounds: Some(bounds), ..QueueSettings::default() };
    let configured = runtime.ask(Command::ConfigureQueue(QueueName::default_queue(), settings));
    runtime.answer(configured);
    stored(&mut runtime);
    for goes_away in [true, false] {
        let waiter = WaiterId(u64::from(goes_away));
        let jobs = vec![job(Some(JobId::v7(7, waiter.0.into())))];
        let wait = Some((waiter, 60_000));
        drop(runtime.ask(Command::Enqueue(Enqueue { jobs, wait })));
        if goes_away {
            drop(runtime.ask(Command::StopWaiting(waiter)));
        }
        let facts = runtime.read_facts();
        runtime.resume(facts);
        assert_eq!(runtime.engine_loop.waiting.contains_key(&waiter), !goes_away);
    }
    runtime.stop();
}

#[test]
fn a_full_stage_refuses_and_holds_nothing() {
    let mut runtime = TestRuntime::start();
    let id = stored(&mut runtime);
    let answers: Vec<_> = (0..20).map(|_| runtime.ask(cancel(id))).collect();
    let accepted = runtime.engine_loop.outstanding;
    assert!((1..20).contains(&accepted), "{accepted}");
    let facts = runtime.read_facts();
    assert_eq!(facts.len(), accepted);
    runtime.resume(facts);
    let answers: Vec<_> = answers.into_iter().map(|answer| runtime.answer(answer)).collect();
    let busy = |answer: &&Answer| matches!(answer, Answer::Unavailable(Unavailable::Busy));
    assert_eq!(answers.iter().filter(busy).count(), 20 - accepted);
    runtime.catch_up();
    assert!(!runtime.engine_loop.in_flight.touches(Seq(1)), "no pin is left");
    runtime.stop();
}
