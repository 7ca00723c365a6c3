//! Reservations: how long a worker may keep a job, and what happens when it says nothing.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::shorthand::{ack, fresh_queue, heartbeat, job_with, now_ms, quick_retry, take};
use crate::shorthand::{take_with, try_ack};
use crate::support::{JSON, Server};

const BEATS: [&str; 4] =
    ["--workers-heartbeat-timeout", "300ms", "--workers-heartbeat-interval", "100ms"];

#[test]
fn a_job_whose_reservation_ends_is_available_again() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({})));
    let job = take_with(&server, &queue, json!({"visibility_timeout_ms": 150}));
    assert_eq!(job["visibility_timeout_ms"], 150);
    let job = server.wait_for_state(&id, "available");
    assert_eq!((&job["attempt"], &job["error"]["type"]), (&json!(1), &json!("visibility_timeout")));
    assert!(job.get("started_at").is_none(), "{job}");
    let again = take(&server, &queue);
    assert_eq!((&again["id"], &again["attempt"]), (&json!(id), &json!(2)));
    assert_eq!(again["errors"][0]["attempt"], 1);
}

#[test]
fn a_reservation_that_ends_on_the_last_attempt_discards_the_job() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({"retry": quick_retry(2)})));
    for attempt in 1..=2 {
        let job = take_with(&server, &queue, json!({"visibility_timeout_ms": 100}));
        assert_eq!(job["attempt"], attempt);
    }
    let job = server.wait_for_state(&id, "discarded");
    assert_eq!(job["error"]["type"], "visibility_timeout");
    assert_eq!(job["errors"].as_array().map(Vec::len), Some(2));
    server.get(&format!("/ojs/v1/dead-letter/{id}")).expect(200);
}

#[test]
fn heartbeats_extend_the_reservation() {
    let server = Server::start();
    // A reservation that ended because a heartbeat came late proves nothing; a longer one is tried.
    let seconds = [1, 1, 2, 4, 8, 16].map(Duration::from_secs);
    let kept = seconds.into_iter().any(|reservation| kept_by_heartbeats(&server, reservation));
    assert!(kept, "no heartbeat came in time");
}

/// Whether all heartbeats came in time. Each that did must have counted.
fn kept_by_heartbeats(server: &Server, reservation: Duration) -> bool {
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({})));
    let begun = Instant::now();
    let more = json!({"worker_id": "w1", "visibility_timeout_ms": reservation.as_millis() as u64});
    take_with(server, &queue, more);
    let mut last = begun;
    while begun.elapsed() < reservation * 3 / 2 {
        std::thread::sleep(Duration::from_millis(100));
        let sent = Instant::now();
        let beat = heartbeat(server, "w1", json!({"active_jobs": [id]})).expect(200);
        if last.elapsed() >= reservation {
            return false;
        }
        assert_eq!(beat["jobs_extended"], json!([id]));
        last = sent;
    }
    let acked = try_ack(server, &id);
    if last.elapsed() >= reservation {
        return false;
    }
    assert_eq!(acked.expect(200)["attempt"], 1);
    true
}

#[test]
fn a_heartbeat_may_ask_for_another_reservation() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({})));
    take_with(&server, &queue, json!({"worker_id": "w1", "visibility_timeout_ms": 60_000}));
    let more = json!({"active_jobs": [id], "visibility_timeout_ms": 100});
    heartbeat(&server, "w1", more).expect(200);
    server.wait_for_state(&id, "available");
}

#[test]
fn a_heartbeat_of_another_worker_extends_nothing() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({})));
    take_with(&server, &queue, json!({"worker_id": "w1"}));
    let more = json!({"active_jobs": [id], "visibility_timeout_ms": 1});
    let beat = heartbeat(&server, "w2", more).expect(200);
    assert_eq!((&beat["jobs_extended"], &beat["jobs_lost"]), (&json!([]), &json!([id])));
    assert_eq!(server.job(&id)["state"], "active");
}

#[test]
fn the_jobs_own_visibility_timeout_wins_over_the_fetchs() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({"visibility_timeout_ms": 120})));
    let job = take_with(&server, &queue, json!({"visibility_timeout_ms": 60_000}));
    assert_eq!(job["visibility_timeout_ms"], 120);
    server.wait_for_state(&id, "available");
}

#[test]
fn a_shortened_reservation_is_shown_with_its_real_length() {
    let server = Server::start_with(&["--tenancy-max-visibility-timeout", "10s"]);
    let queue = fresh_queue();
    let header = [JSON, ("X-OJS-Tenant", "acme")];
    let ask = json!({"queues": [queue]}).to_string();
    for asked in [json!({"visibility_timeout_ms": 60_000}), json!({"visibility_timeout": 60})] {
        let mut job = job_with(&queue, asked.clone());
        job["args"] = json!([{"visibility_timeout_ms": 5, "a": "b,\"c"}]);
        job["meta"] = json!({"tenant_id": "acme"});
        server.enqueue(job.clone());
        server.enqueue(job.clone());
        let fetch = "/ojs/v1/workers/fetch";
        let reply = server.send("POST", fetch, &header, Some(ask.as_bytes())).expect(200);
        let own = &reply["jobs"][0];
        assert_eq!(own["visibility_timeout_ms"], 10_000, "{own}");
        assert_eq!((&own["args"], &own["type"]), (&job["args"], &job["type"]));
        // Workers of operators may have them for as long as they ask.
        let shared = take(&server, &queue);
        assert_eq!(shared["visibility_timeout_ms"], 60_000, "{shared}");
    }
}

#[test]
fn the_servers_visibility_timeout_is_the_last_resort() {
    let server = Server::start_with(&["--jobs-visibility-timeout", "120ms"]);
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({})));
    assert_eq!(take(&server, &queue)["visibility_timeout_ms"], 120);
    server.wait_for_state(&id, "available");
}

#[test]
fn an_execution_that_takes_too_long_fails_with_a_timeout() {
    let server = Server::start();
    let queue = fresh_queue();
    let more = json!({"timeout_ms": 150, "retry": quick_retry(2)});
    let id = server.enqueue(job_with(&queue, more));
    assert_eq!(take(&server, &queue)["timeout_ms"], 150);
    let again = take(&server, &queue);
    assert_eq!((&again["id"], &again["attempt"]), (&json!(id), &json!(2)));
    assert_eq!(again["errors"][0]["type"], "timeout");
    let job = server.wait_for_state(&id, "discarded");
    assert_eq!(job["error"]["type"], "timeout");
}

#[test]
fn heartbeats_do_not_put_off_the_execution_timeout() {
    let server = Server::start();
    let queue = fresh_queue();
    let more = json!({"timeout_ms": 400, "retry": {"max_attempts": 1}});
    let id = server.enqueue(job_with(&queue, more));
    take_with(&server, &queue, json!({"worker_id": "w1"}));
    let until = now_ms() + 60_000;
    while server.job(&id)["state"] == "active" {
        assert!(now_ms() < until, "heartbeats kept it alive");
        heartbeat(&server, "w1", json!({"active_jobs": [id]})).expect(200);
        std::thread::sleep(Duration::from_millis(30));
    }
    assert_eq!(server.job(&id)["error"]["type"], "timeout");
}

#[test]
fn an_ack_after_the_reservation_ended_is_refused() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({})));
    take_with(&server, &queue, json!({"visibility_timeout_ms": 80}));
    server.wait_for_state(&id, "available");
    let error = try_ack(&server, &id).expect_error(409, "conflict");
    assert_eq!(error["details"]["current_state"], "available");
    take(&server, &queue);
    let late = server.post("/ojs/v1/workers/ack", json!({"job_id": id, "attempt": 1}));
    late.expect_error(409, "conflict");
    assert_eq!(server.job(&id)["state"], "active");
    server.post("/ojs/v1/workers/ack", json!({"job_id": id, "attempt": 2})).expect(200);
}

#[test]
fn the_jobs_of_a_worker_that_falls_silent_come_back() {
    let server = Server::start_with(&BEATS);
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({})));
    take_with(&server, &queue, json!({"worker_id": "w1"}));
    heartbeat(&server, "w1", json!({"active_jobs": [id]})).expect(200);
    let job = server.wait_for_state(&id, "available");
    assert_eq!((&job["error"]["type"], &job["attempt"]), (&json!("worker_lost"), &json!(1)));
    let beat = heartbeat(&server, "w1", json!({"active_jobs": [id]})).expect(200);
    assert_eq!(beat["jobs_lost"], json!([id]));
}

#[test]
fn a_worker_that_never_sent_heartbeats_does_not_become_stale() {
    let server = Server::start_with(&BEATS);
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({})));
    take_with(&server, &queue, json!({"worker_id": "w1"}));
    // Another worker, which sent one, is lost meanwhile.
    let lost = server.enqueue(job_with("other", json!({})));
    take_with(&server, "other", json!({"worker_id": "w2"}));
    heartbeat(&server, "w2", json!({"active_jobs": [lost]})).expect(200);
    server.wait_for_state(&lost, "available");
    assert_eq!(server.job(&id)["state"], "active");
    ack(&server, &id);
}

#[test]
fn a_visibility_timeout_out_of_bounds_is_refused() {
    let server = Server::start_with(&["--jobs-max-visibility-timeout", "1h"]);
    for ms in [0, 3_600_001] {
        let ask = json!({"queues": ["q"], "visibility_timeout_ms": ms});
        server.post("/ojs/v1/workers/fetch", ask).expect_error(422, "invalid_request");
        let job = job_with("q", json!({"visibility_timeout_ms": ms}));
        server.post("/ojs/v1/jobs", job).expect_error(422, "invalid_request");
    }
}
