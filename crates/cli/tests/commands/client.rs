//! What workers need of the client; the rest of it is what the commands use.

use std::time::{Duration, Instant};

use rota_client::{Ack, Beat, Client, Error, Fetch, Nack, NewJob, Registration};
use serde_json::json;
use serde_json::value::RawValue;

use crate::support::Server;

fn client(server: &Server) -> Client {
    Client::new(&server.url("")).unwrap()
}

fn ack(job_id: &str) -> Ack {
    Ack { job_id: job_id.to_owned(), worker_id: Some("w1".into()), attempt: None, result: None }
}

#[tokio::test]
async fn a_job_is_enqueued_fetched_and_acknowledged() {
    let server = Server::start();
    let client = client(&server);
    let sent = client.enqueue(&NewJob::new("email.send").arg("a").arg(7).queue("q")).await.unwrap();
    let jobs = client.fetch(&Fetch::from(["other", "q"]).worker("w1")).await.unwrap();
    assert_eq!((jobs.len(), &jobs[0].id, &*jobs[0].state), (1, &sent.id, "active"));
    assert_eq!((jobs[0].args.get(), jobs[0].attempt), (r#"["a",7]"#, 1));
    assert_eq!(jobs[0].visibility_timeout_ms, Some(1_800_000));

    let result = RawValue::from_string("{\"n\":1}".into()).unwrap();
    let done = Ack { attempt: Some(1), result: Some(result), ..ack(&sent.id) };
    assert_eq!(client.ack(&done).await.unwrap().state, "completed");
    let job = client.job(&sent.id).await.unwrap();
    assert_eq!(job.result.as_ref().unwrap().get(), r#"{"n":1}"#);
    let error = client.ack(&done).await.unwrap_err();
    assert_eq!(error.refusal().map(|refusal| refusal.status), Some(409));
}

#[tokio::test]
async fn a_failed_attempt_is_kept_with_the_job() {
    let server = Server::start();
    let client = client(&server);
    let sent = client.enqueue(&NewJob::new("a.b").max_attempts(1)).await.unwrap();
    client.fetch(&Fetch::from(["default"]).worker("w1")).await.unwrap();
    let nack = Nack {
        job_id: sent.id.clone(),
        worker_id: Some("w1".into()),
        attempt: Some(1),
        error: json!({"code": "oops", "message": "no"}),
        requeue: false,
    };
    assert_eq!(client.nack(&nack).await.unwrap().state, "discarded");
    let job = client.job(&sent.id).await.unwrap();
    assert_eq!((&*job.errors[0].message, job.errors[0].attempt), ("no", Some(1)));
    assert!(job.errors[0].at().is_some());
}

#[tokio::test]
async fn many_outcomes_are_answered_one_by_one() {
    let server = Server::start();
    let client = client(&server);
    let new = [NewJob::new("a.b"), NewJob::new("a.b")];
    let sent = client.enqueue_batch(&new).await.unwrap();
    client.fetch(&Fetch::from(["default"]).worker("w1").count(1)).await.unwrap();
    let settled = client.ack_many(&[ack(&sent[0].id), ack(&sent[1].id)]).await.unwrap();
    assert_eq!(settled[0].as_ref().unwrap().state, "completed");
    let refusal = settled[1].as_ref().unwrap_err();
    assert_eq!((refusal.status, &*refusal.code), (409, "conflict"));
}

#[tokio::test]
async fn waiting_for_a_job_is_no_timeout() {
    let server = Server::start();
    let hasty = Client::builder().request_timeout(Duration::from_millis(200));
    let hasty = hasty.build(&server.url("")).unwrap();
    // A machine may be held up for longer than this client is patient, but not each time.
    for _ in 0..10 {
        let begun = Instant::now();
        if let Ok(jobs) = hasty.fetch(&Fetch::from(["q"]).worker("w1").wait_ms(600)).await {
            assert!(jobs.is_empty() && begun.elapsed() >= Duration::from_millis(600));
            return;
        }
    }
    panic!("it never waits");
}

#[tokio::test]
async fn a_worker_registers_beats_and_leaves() {
    let server = Server::start();
    let client = client(&server);
    let about = Registration { worker_id: "w1".into(), concurrency: Some(4), ..Default::default() };
    assert!(client.register(&about).await.unwrap().heartbeat_interval.is_some());
    let sent = client.enqueue(&NewJob::new("a.b")).await.unwrap();
    client.fetch(&Fetch::from(["default"]).worker("w1")).await.unwrap();

    let beat =
        Beat { worker_id: "w1".into(), active_jobs: vec![sent.id.clone()], ..Default::default() };
    let answer = client.heartbeat(&beat).await.unwrap();
    assert_eq!((&*answer.state, &answer.jobs_extended), ("running", &vec![sent.id.clone()]));
    client.cancel(&sent.id).await.unwrap();
    client.change_worker("w1", rota_client::WorkerChange::Quiet).await.unwrap();
    let answer = client.heartbeat(&beat).await.unwrap();
    assert_eq!((&*answer.state, &answer.jobs_cancelled), ("quiet", &vec![sent.id.clone()]));

    client.deregister("w1").await.unwrap();
    assert!(client.worker("w1").await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn the_manifest_names_the_server() {
    let server = Server::start();
    let manifest = client(&server).manifest().await.unwrap();
    assert_eq!(manifest.implementation.name, "rota");
    assert_eq!(manifest.implementation.version.as_deref(), Some(env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn a_server_that_dies_is_noticed() {
    let mut server = Server::start_apart(&[]);
    let client = client(&server);
    client.health().await.unwrap();
    server.kill();
    // A kept connection may break with the request on its way; a new one cannot be made.
    assert!(client.health().await.unwrap_err().is_transient());
    let error = client.health().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}
