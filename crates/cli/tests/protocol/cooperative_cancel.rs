//! Cancelling an active job by asking its worker.

use std::time::Duration;

use serde_json::{Value, json};

use crate::shorthand::{
    ack, boom, eventually, heartbeat, ids, job_on, nack, quick_retry, register, take_with,
};
use crate::states::events;
use crate::support::Server;

/// An active job that its worker is to cancel.
fn asked(server: &Server, worker: &str, more: Value) -> String {
    let id = server.enqueue(crate::shorthand::job_with("q", more));
    register(server, worker, json!({}));
    take_with(server, "q", json!({"worker_id": worker}));
    let answer = server.post(&format!("/ojs/v1/jobs/{id}/cancel?mode=cooperative"), json!({}));
    let answer = answer.expect(200);
    assert_eq!((&answer["state"], &answer["previous_state"]), (&json!("active"), &json!("active")));
    assert_eq!(answer["job"]["cancel_requested"], true, "{answer}");
    id
}

fn state(server: &Server, id: &str) -> Value {
    server.job(id)["state"].clone()
}

#[test]
fn the_worker_learns_of_the_request_and_ends_the_job() {
    let mut server = Server::start();
    let id = asked(&server, "w", json!({"retry": quick_retry(9)}));
    for restarted in [false, true] {
        if restarted {
            server.restart();
        }
        assert_eq!(server.job(&id)["cancel_requested"], true, "restarted: {restarted}");
        let beat = heartbeat(&server, "w", json!({"active_jobs": [id]})).expect(200);
        assert_eq!(beat["jobs_extended"], json!([id]), "it keeps its reservation meanwhile");
        assert_eq!(beat["jobs_cancelled"], json!([id]));
        assert_eq!(beat["jobs_cancel_requested"], json!([id]));
    }
    // Asking again changes nothing.
    server.delete(&format!("/ojs/v1/jobs/{id}?mode=cooperative")).expect(200);
    assert!(events(&server, "job.cancelled").is_empty());
    assert_eq!(nack(&server, &id, boom())["state"], "cancelled");
    assert_eq!(events(&server, "job.cancelled").len(), 1);
    assert_eq!(state(&server, &id), "cancelled", "it is not retried");
    assert_eq!(server.job(&id)["cancel_requested"], Value::Null);
    // Retried by hand, it is an ordinary job.
    server.post(&format!("/ojs/v1/admin/jobs/{id}/retry"), json!({})).expect(200);
    assert_eq!(ids(&server.fetch("q", 1)), std::slice::from_ref(&id));
    assert_eq!(server.job(&id)["cancel_requested"], Value::Null);
}

#[test]
fn the_first_to_finish_completes_the_job() {
    let server = Server::start();
    let id = asked(&server, "w", json!({}));
    ack(&server, &id);
    assert_eq!(state(&server, &id), "completed");
    server.delete(&format!("/ojs/v1/jobs/{id}?mode=cooperative")).expect_error(409, "conflict");
}

#[test]
fn a_worker_that_is_gone_or_ignores_it_does_not_run_the_job_again() {
    let server = Server::start_with(&[
        "--workers-heartbeat-interval",
        "100ms",
        "--workers-heartbeat-timeout",
        "300ms",
    ]);
    let many = json!({"retry": {"max_attempts": 9}});
    // The reservation ends; the execution times out; the worker goes silent.
    let reserved = asked(
        &server,
        "a",
        crate::shorthand::merged(many.clone(), json!({"visibility_timeout_ms": 200})),
    );
    let slow =
        asked(&server, "b", crate::shorthand::merged(many.clone(), json!({"timeout_ms": 200})));
    let lost = asked(&server, "c", many.clone());
    heartbeat(&server, "c", json!({})).expect(200);
    for id in [reserved, slow, lost] {
        eventually("it is cancelled", || (state(&server, &id) == "cancelled").then_some(()));
        assert!(!server.job(&id)["error"].is_null(), "what happened is recorded");
    }
    // Requeued by its worker; and cancelled at once by somebody in a hurry.
    let requeued = asked(&server, "d", many.clone());
    let body = json!({"job_id": requeued, "requeue": true, "error": boom()});
    server.post("/ojs/v1/workers/nack", body).expect(200);
    assert_eq!(state(&server, &requeued), "cancelled");
    let hurried = asked(&server, "e", many);
    let answer = server.delete(&format!("/ojs/v1/jobs/{hurried}?mode=immediate")).expect(200);
    assert_eq!(answer["state"], "cancelled");
    std::thread::sleep(Duration::from_millis(1));
    assert!(server.fetch("q", 9).is_empty());
}

#[test]
fn waiting_jobs_are_cancelled_at_once_and_the_default_is_a_setting() {
    let server = Server::start_with(&["--jobs-cancel-mode", "cooperative"]);
    let (waiting, active) = (server.enqueue(job_on("w")), server.enqueue(job_on("q")));
    server.fetch("q", 1);
    assert_eq!(server.delete(&format!("/ojs/v1/jobs/{waiting}")).expect(200)["state"], "cancelled");
    assert_eq!(server.delete(&format!("/ojs/v1/jobs/{active}")).expect(200)["state"], "active");
    let all = json!({"confirm": true, "filter": {"queue": "q"}});
    server.post("/ojs/v1/admin/jobs/bulk/cancel", all).expect(200);
    assert_eq!(state(&server, &active), "active");
    let error = server.delete(&format!("/ojs/v1/jobs/{active}?mode=soon"));
    assert_eq!(error.expect(400)["error"]["details"]["field"], "mode");
    // Purging a queue does not wait for anybody.
    server.delete("/ojs/v1/queues/q?purge=true&confirm=true").expect(200);
    assert_eq!(state(&server, &active), "cancelled");
}
