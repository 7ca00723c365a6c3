//! The worker.

use std::sync::Arc;
use std::time::Duration;

use rota_client::worker::{Failure, Handlers, Options, Outcome, Shutdown, Summary, Worker};
use rota_client::{Error, Job, TypedJob, WithJson};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Notify;

use super::server::{Fake, error, settled};

async fn work_off(
    fake: &Fake,
    handler: impl rota_client::worker::Handler,
) -> Result<Summary, Error> {
    let mut options = Options::new(["q"]);
    options.until_idle = true;
    let (_trigger, shutdown) = Shutdown::new();
    let worker = Worker::new(fake.start().await, options).run(handler, shutdown);
    tokio::time::timeout(Duration::from_secs(60), worker).await.expect("the worker ends")
}

#[tokio::test]
async fn an_answer_that_was_lost_is_no_lost_job() {
    let fake = Fake::new(|path, nth| match (path, nth) {
        ("ack", 1) => None,
        ("ack", _) => error(409, json!({"current_state": "completed"})),
        _ => Some((200, json!({"state": "running"}))),
    });
    let summary = work_off(&fake, |_, _| async { Outcome::done() }).await.unwrap();
    assert_eq!(summary, Summary { completed: 1, ..Summary::default() });
    assert_eq!(fake.asked("ack").len(), 2);
}

#[tokio::test]
async fn a_refused_outcome_is_not_repeated() {
    let fake = Fake::new(|path, _| match path {
        "ack" => error(409, json!({"current_state": "active"})),
        _ => Some((200, json!({"state": "running"}))),
    });
    let summary = work_off(&fake, |_, _| async { Outcome::done() }).await.unwrap();
    assert_eq!(summary, Summary { lost: 1, ..Summary::default() });
    assert_eq!(fake.asked("ack").len(), 1);
}

#[tokio::test]
async fn a_server_without_registry_and_heartbeats_will_do() {
    let fake = Fake::new(|path, _| match path {
        "ack" => settled("completed"),
        _ => error(404, json!({})),
    });
    let done = |job: Arc<WithJson<Job>>, _| async move { Outcome::done_with(&job.kind) };
    let summary = work_off(&fake, done).await.unwrap();
    assert_eq!(summary.completed, 1);
    let ack = &fake.asked("ack")[0];
    assert_eq!((&ack["result"], &ack["attempt"]), (&json!("a.b"), &json!(1)));
    assert_eq!(ack["worker_id"], fake.asked("fetch")[0]["worker_id"]);
}

#[tokio::test]
async fn a_handler_that_panics_has_failed() {
    let fake = Fake::new(|path, _| match path {
        "nack" => settled("retryable"),
        _ => Some((200, json!({"state": "running"}))),
    });
    let summary = work_off(&fake, |_, _| async { panic!("boom") }).await.unwrap();
    assert_eq!(summary.failed, 1);
    let expected = json!({"type": "panic", "message": "boom", "retryable": true});
    assert_eq!(fake.asked("nack")[0]["error"], expected);
}

#[tokio::test]
async fn a_failure_for_good_says_so() {
    let fake = Fake::new(|path, _| match path {
        "nack" => settled("discarded"),
        _ => Some((200, json!({"state": "running"}))),
    });
    let fail = |_, _| async { Failure::new("bad", "m").no_retry().detail("k", 1).into() };
    work_off(&fake, fail).await.unwrap();
    let expected = json!({"type": "bad", "message": "m", "retryable": false, "details": {"k": 1}});
    assert_eq!(fake.asked("nack")[0]["error"], expected);
}

#[tokio::test]
async fn a_proxy_whose_server_is_away_is_waited_for() {
    let fake = Fake::new(|path, nth| match (path, nth) {
        ("ack", 1..3) => Some((502, json!("bad gateway"))),
        ("ack", _) => settled("completed"),
        _ => Some((200, json!({"state": "running"}))),
    });
    let summary = work_off(&fake, |_, _| async { Outcome::done() }).await.unwrap();
    assert_eq!(summary.completed, 1);
    assert_eq!(fake.asked("ack").len(), 3);
}

#[tokio::test]
async fn an_idle_worker_does_not_wait_for_its_fetch_to_be_answered() {
    let fetched = Arc::new(Notify::new());
    let fake = Fake {
        silent: Some(fetched.clone()),
        ..Fake::new(|_, _| Some((200, json!({"state": "running"}))))
    };
    let mut options = Options::new(["q"]);
    options.wait = Duration::from_secs(3600);
    let (trigger, shutdown) = Shutdown::new();
    let idle =
        Worker::new(fake.start().await, options).run(|_, _| async { Outcome::done() }, shutdown);
    let told = async {
        fetched.notified().await;
        trigger.drain();
    };
    let both = async { tokio::join!(idle, told).0 };
    let summary = tokio::time::timeout(Duration::from_secs(60), both).await.expect("it ends");
    assert_eq!(summary.unwrap(), Summary::default());
    assert_eq!(fake.asked("fetch").len(), 1);
}

#[tokio::test]
async fn a_handler_that_does_not_stop_is_dropped() {
    let fake = Fake::new(|path, _| match path {
        "nack" => settled("available"),
        _ => Some((200, json!({"state": "running"}))),
    });
    let mut options = Options::new(["q"]);
    options.stop_within = Duration::from_millis(100);
    let (trigger, shutdown) = Shutdown::new();
    let trigger = Arc::new(trigger);
    let told = trigger.clone();
    let worker = Worker::new(fake.start().await, options);
    let deaf = move |_, _| {
        told.stop_now();
        std::future::pending::<Outcome>()
    };
    let summary = tokio::time::timeout(Duration::from_secs(60), worker.run(deaf, shutdown)).await;
    assert_eq!(summary.unwrap().unwrap(), Summary { handed_back: 1, ..Summary::default() });
    assert_eq!(fake.asked("nack")[0]["requeue"], true);
}

#[derive(Serialize, Deserialize)]
struct Nothing {}

impl TypedJob for Nothing {
    const KIND: &'static str = "a.b";
}

#[tokio::test]
async fn a_job_without_a_handler_or_with_other_arguments_fails_and_says_why() {
    let fake = || {
        Fake::new(|path, _| match path {
            "nack" => settled("retryable"),
            _ => Some((200, json!({"state": "running"}))),
        })
    };
    let other = fake();
    work_off(&other, Handlers::new().on("c.d", |_, _| async { Outcome::done() })).await.unwrap();
    let refused = &other.asked("nack")[0]["error"];
    assert_eq!((&refused["type"], &refused["retryable"]), (&json!("no_handler"), &json!(true)));

    let typed = fake();
    let handlers = Handlers::new().on_typed(|_: Nothing, _, _| async { Outcome::done() });
    work_off(&typed, handlers).await.unwrap();
    let refused = &typed.asked("nack")[0]["error"];
    assert_eq!((&refused["type"], &refused["retryable"]), (&json!("bad_arguments"), &json!(false)));
}

#[tokio::test]
async fn a_handler_can_report_the_limit_of_another_service() {
    let fake = Fake::new(|path, _| match path {
        "nack" => settled("retryable"),
        _ => Some((200, json!({"state": "running"}))),
    });
    let limited = Handlers::new().on("a.b", |_, _| async {
        Failure::rate_limited("the mail service is full", "2026-02-13T12:05:00Z").into()
    });
    work_off(&fake, limited).await.unwrap();
    assert_eq!(fake.asked("nack")[0]["error"]["rate_limit_until"], "2026-02-13T12:05:00Z");
}
