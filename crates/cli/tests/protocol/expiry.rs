//! Jobs that are not worth starting after a while.

use serde_json::{Value, json};

use crate::shorthand::{ack, boom, eventually, fresh_queue, job_with, merged, millis, nack};
use crate::shorthand::{take, text};
use crate::states::events;
use crate::support::Server;

#[track_caller]
fn assert_expired(server: &Server, id: &str) -> Value {
    let job = server.wait_for_state(id, "discarded");
    assert!(job["expired_at"].is_string() && job["discarded_at"].is_string(), "{job}");
    assert!(job.get("completed_at").is_none(), "{job}");
    assert_eq!(job["attempt"], 0);
    assert!(millis(&job["discarded_at"]) >= millis(&job["expires_at"]), "{job}");
    job
}

/// A job with a second to be started in, and started in it. One that expired first is left behind.
fn started_in_time(server: &Server, more: Value) -> Value {
    eventually("a job is started in time", || {
        let queue = fresh_queue();
        let more = merged(more.clone(), json!({"expires_at": "+PT1S"}));
        server.enqueue(job_with(&queue, more));
        server.fetch(&queue, 1).pop()
    })
}

#[test]
fn a_job_that_waits_too_long_expires_in_whatever_state() {
    let server = Server::start();
    for more in [json!({}), json!({"pending": true}), json!({"scheduled_at": "+PT1H"})] {
        let queue = fresh_queue();
        let id = server.enqueue(job_with(&queue, merged(more, json!({"expires_at": "+PT0.2S"}))));
        assert_expired(&server, &id);
        assert!(server.fetch(&queue, 1).is_empty());
        server.get(&format!("/ojs/v1/dead-letter/{id}")).expect_error(404, "not_found");
    }
}

#[test]
fn a_deadline_in_the_past_expires_the_job_at_once() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"expires_at": "2001-01-01T00:00:00Z"})));
    assert_expired(&server, &id);
    assert!(server.fetch("q", 1).is_empty());
}

#[test]
fn a_job_on_a_paused_queue_expires_too() {
    let server = Server::start();
    server.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    let id = server.enqueue(job_with("q", json!({"expires_at": "+PT0.1S"})));
    assert_expired(&server, &id);
}

#[test]
fn a_job_that_was_started_in_time_may_finish() {
    let server = Server::start();
    let job = started_in_time(&server, json!({}));
    let (id, deadline) = (text(&job["id"]), millis(&job["expires_at"]));
    while crate::shorthand::now_ms() < deadline + 200 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(server.job(&id)["state"], "active");
    assert_eq!(ack(&server, &id)["state"], "completed");
}

#[test]
fn expiry_is_an_event() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"expires_at": "+PT0.1S"})));
    let job = assert_expired(&server, &id);
    let all = eventually("the event is there", || {
        Some(events(&server, "job.expired")).filter(|all| !all.is_empty())
    });
    assert_eq!(all.len(), 1);
    assert_eq!((&all[0]["subject"], &all[0]["data"]["job_id"]), (&json!(id), &json!(id)));
    assert_eq!(all[0]["data"]["expired_at"], job["expired_at"]);
    assert!(events(&server, "job.discarded").is_empty());
}

#[test]
fn a_job_expires_although_the_server_was_restarted() {
    let mut server = Server::start();
    let id = server.enqueue(job_with("q", json!({"expires_at": "+PT0.8S"})));
    server.restart();
    assert_expired(&server, &id);
}

#[test]
fn a_retried_job_that_had_expired_runs() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"expires_at": "+PT0.05S"})));
    assert_expired(&server, &id);
    server.post(&format!("/ojs/v1/admin/jobs/{id}/retry"), json!({})).expect(200);
    assert_eq!(take(&server, "q")["id"], id);
}

#[test]
fn a_retried_job_that_had_expired_outlives_a_restart() {
    let mut server = Server::start();
    let id = server.enqueue(job_with("q", json!({"expires_at": "+PT0.05S"})));
    assert_expired(&server, &id);
    server.post(&format!("/ojs/v1/admin/jobs/{id}/retry"), json!({})).expect(200);
    server.restart();
    assert_eq!(take(&server, "q")["id"], id);
}

#[test]
fn a_job_that_waits_for_its_retry_expires() {
    let server = Server::start();
    let retry = json!({"initial_interval": "PT1H", "max_interval": "PT1H"});
    let id = text(&started_in_time(&server, json!({"retry": retry}))["id"]);
    nack(&server, &id, boom());
    let job = server.wait_for_state(&id, "discarded");
    assert!(job["expired_at"].is_string(), "{job}");
}
