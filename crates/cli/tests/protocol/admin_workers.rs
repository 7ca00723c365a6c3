//! Workers, as an operator sees them.

use serde_json::json;

use crate::shorthand::{eventually, heartbeat, job_on, register};
use crate::support::Server;

const BEATS: [&str; 4] =
    ["--workers-heartbeat-timeout", "300ms", "--workers-heartbeat-interval", "100ms"];

#[test]
fn workers_are_listed_with_a_summary() {
    let server = Server::start();
    for n in 1..=5 {
        register(&server, &format!("w{n}"), json!({}));
    }
    server.post("/ojs/v1/admin/workers/w2/quiet", json!({})).expect(200);
    server.post("/ojs/v1/admin/workers/w3/terminate", json!({})).expect(200);
    for worker in ["w2", "w3"] {
        heartbeat(&server, worker, json!({})).expect(200);
    }
    let body = server.get("/ojs/v1/admin/workers?per_page=2&page=2").expect(200);
    let expected = json!({"total": 5, "running": 3, "quiet": 1, "terminate": 1, "stale": 0});
    assert_eq!(body["summary"], expected);
    let names: Vec<_> = body["items"].as_array().unwrap().iter().map(|w| w["id"].clone()).collect();
    assert_eq!(names, [json!("w3"), json!("w4")]);
    let pagination = json!({"total": 5, "page": 2, "per_page": 2, "limit": 2, "offset": 2,
        "has_more": true, "next_cursor": "w4"});
    assert_eq!(body["pagination"], pagination);
}

#[test]
fn a_worker_is_shown_with_its_registration_and_its_jobs() {
    let server = Server::start();
    server.put("/ojs/v1/admin/pools/blue", json!({"queues": ["q"]})).expect(201);
    let about = json!({"hostname": "h", "pid": 12, "queues": ["q"], "concurrency": 3,
        "labels": ["gpu"], "pool": "blue", "version": "1.2", "metadata": {"zone": "a"}});
    register(&server, "w1", about.clone());
    let id = server.enqueue(job_on("q"));
    let ask = json!({"queues": ["q"], "worker_id": "w1"});
    server.post("/ojs/v1/workers/fetch", ask).expect(200);
    let worker = server.get("/ojs/v1/admin/workers/w1").expect(200);
    for (key, value) in about.as_object().unwrap() {
        assert_eq!(worker[key], *value, "{key} of {worker}");
    }
    assert_eq!((&worker["active_jobs"], &worker["active_job_ids"]), (&json!(1), &json!([id])));
    assert_eq!(worker["state"], "running");
    assert_eq!(worker["last_heartbeat_at"], json!(null));
    heartbeat(&server, "w1", json!({"hostname": "h2"})).expect(200);
    let worker = server.get("/ojs/v1/admin/workers/w1").expect(200);
    assert_eq!(worker["hostname"], "h2");
    assert!(worker["last_heartbeat_at"].is_string(), "{worker}");
    server.get("/ojs/v1/admin/workers/nobody").expect_error(404, "not_found");
}

#[test]
fn only_a_stale_worker_can_be_removed() {
    let server = Server::start();
    heartbeat(&server, "w1", json!({})).expect(200);
    server.delete("/ojs/v1/admin/workers/w1").expect_error(409, "conflict");

    let server = Server::start_with(&BEATS);
    let id = server.enqueue(job_on("q"));
    let ask = json!({"queues": ["q"], "worker_id": "w1"});
    server.post("/ojs/v1/workers/fetch", ask).expect(200);
    heartbeat(&server, "w1", json!({})).expect(200);
    eventually("the worker is stale", || {
        let worker = server.get("/ojs/v1/admin/workers/w1").expect(200);
        (worker["state"] == "stale").then_some(())
    });
    let summary = server.get("/ojs/v1/admin/workers").expect(200)["summary"].clone();
    assert_eq!((&summary["stale"], &summary["running"]), (&json!(1), &json!(0)));
    server.delete("/ojs/v1/admin/workers/w1").expect(200);
    server.get("/ojs/v1/admin/workers/w1").expect_error(404, "not_found");
    server.wait_for_state(&id, "available");
    server.delete("/ojs/v1/admin/workers/w1").expect_error(404, "not_found");
}

#[test]
fn a_silent_worker_that_never_sent_heartbeats_gives_its_jobs_back_when_removed() {
    let server = Server::start_with(&BEATS);
    let id = server.enqueue(job_on("q"));
    let ask = json!({"queues": ["q"], "worker_id": "w1"});
    server.post("/ojs/v1/workers/fetch", ask).expect(200);
    let body = eventually("the worker can be removed", || {
        let reply = server.delete("/ojs/v1/admin/workers/w1");
        (reply.status == 200).then_some(reply.body)
    });
    assert_eq!(body["jobs_requeued"], 1);
    let job = server.wait_for_state(&id, "available");
    assert_eq!(job["error"]["type"], "worker_lost");
}
