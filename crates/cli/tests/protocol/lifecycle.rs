//! A job's way from enqueue to its end.

use serde_json::json;

use crate::shorthand::{NOBODY, ack, fresh_queue, heartbeat, job_with};
use crate::shorthand::{take_with, text, try_ack};
use crate::states::{STATES, job_in};
use crate::support::Server;

#[test]
fn a_job_is_enqueued_fetched_and_acknowledged() {
    let server = Server::start();
    let id = server.enqueue(json!({"type": "email.send", "args": ["a@example.com"]}));
    let jobs = server.fetch("default", 5);
    assert_eq!(jobs.len(), 1);
    assert_eq!((&jobs[0]["id"], &jobs[0]["attempt"]), (&json!(id), &json!(1)));
    let acked = server.post("/ojs/v1/workers/ack", json!({"job_id": id, "result": {"sent": 1}}));
    assert_eq!(acked.expect(200)["state"], "completed");
    let job = server.job(&id);
    assert_eq!((&job["state"], &job["result"]), (&json!("completed"), &json!({"sent": 1})));
}

#[test]
fn every_state_is_shown_with_its_times() {
    let server = Server::start();
    let present = |state: &str| match state {
        "active" => vec!["started_at"],
        "completed" => vec!["started_at", "completed_at"],
        "retryable" => vec!["started_at", "next_attempt_at", "error"],
        "cancelled" => vec!["cancelled_at"],
        "discarded" => vec!["started_at", "discarded_at", "completed_at", "error"],
        _ => vec![],
    };
    for state in STATES {
        let job = server.job(&job_in(&server, state));
        for field in ["created_at", "enqueued_at"] {
            assert!(job[field].is_string(), "{state}: {job}");
        }
        for field in ["started_at", "completed_at", "cancelled_at", "discarded_at", "error"] {
            let expected = present(state).contains(&field);
            assert_eq!(job.get(field).is_some(), expected, "{state} {field}: {job}");
        }
    }
}

#[test]
fn a_pending_job_waits_for_its_activation() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({"pending": true})));
    assert_eq!(server.job(&id)["state"], "pending");
    assert!(server.fetch(&queue, 1).is_empty());
    let body = server.post(&format!("/ojs/v1/jobs/{id}/activate"), json!({})).expect(200);
    assert_eq!(body["job"]["state"], "available");
    assert_eq!(body["job"]["previous_state"], "pending");
    assert!(body["job"]["activated_at"].is_string(), "{body}");
    assert_eq!(server.fetch(&queue, 1)[0]["id"], id);
}

#[test]
fn a_job_is_cancelled_in_every_state_that_is_not_an_end() {
    let server = Server::start();
    for state in ["scheduled", "available", "pending", "active", "retryable"] {
        let id = job_in(&server, state);
        let body = server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
        assert_eq!(body["job"]["state"], "cancelled", "{state}");
        assert_eq!(body["job"]["previous_state"], state);
        assert!(body["job"]["cancelled_at"].is_string(), "{body}");
        let job = server.job(&id);
        assert_eq!(job["state"], "cancelled");
        assert!(server.fetch(&text(&job["queue"]), 1).is_empty(), "{state}");
    }
}

#[test]
fn the_worker_of_a_cancelled_job_hears_of_it_and_cannot_ack() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({})));
    let other = server.enqueue(job_with(&queue, json!({})));
    for _ in 0..2 {
        take_with(&server, &queue, json!({"worker_id": "w1"}));
    }
    server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
    let beat = heartbeat(&server, "w1", json!({"active_jobs": [id, other]})).expect(200);
    assert_eq!(beat["jobs_cancelled"], json!([id]));
    assert_eq!(beat["jobs_extended"], json!([other]));
    let error = try_ack(&server, &id).expect_error(409, "conflict");
    assert_eq!(error["details"]["current_state"], "cancelled");
    ack(&server, &other);
}

#[test]
fn what_does_not_exist_is_not_found() {
    let server = Server::start();
    for id in [NOBODY, "nonsense", "019461a8-1a2b-4c3d-8e4f-5a6b7c8d9e0f"] {
        let at = |path: &str| path.replace("{id}", id);
        for path in ["/ojs/v1/jobs/{id}", "/ojs/v1/admin/jobs/{id}", "/ojs/v1/dead-letter/{id}"] {
            server.get(&at(path)).expect_error(404, "not_found");
        }
        server.delete(&at("/ojs/v1/jobs/{id}")).expect_error(404, "not_found");
        for path in ["/ojs/v1/jobs/{id}/activate", "/ojs/v1/admin/jobs/{id}/retry"] {
            server.post(&at(path), json!({})).expect_error(404, "not_found");
        }
    }
    let nack = json!({"job_id": NOBODY, "error": {"message": "x"}});
    for (what, body) in [("ack", json!({"job_id": NOBODY})), ("nack", nack)] {
        server.post(&format!("/ojs/v1/workers/{what}"), body).expect_error(404, "not_found");
    }
    server.get("/ojs/v1/queues/none").expect_error(404, "not_found");
    server.get("/ojs/v1/cron/none").expect_error(404, "not_found");
    server.get("/ojs/v1/nowhere").expect_error(404, "not_found");
    assert_eq!(server.put("/ojs/v1/jobs", json!({})).status, 405);
}
