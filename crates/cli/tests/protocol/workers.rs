//! Workers: registration, heartbeats and their limits.

use serde_json::{Value, json};

use crate::shorthand::{ack, boom, heartbeat, ids, job_on, nack, register, text};
use crate::support::Server;

fn fetch_as(server: &Server, worker: &str, count: u32) -> Vec<Value> {
    let ask = json!({"queues": ["q"], "worker_id": worker, "count": count});
    let body = server.post("/ojs/v1/workers/fetch", ask).expect(200);
    body["jobs"].as_array().expect("a list of jobs").clone()
}

#[test]
fn a_worker_registers_and_learns_the_servers_times() {
    let flags = ["--workers-heartbeat-interval", "2s", "--workers-heartbeat-timeout", "9s"];
    let server = Server::start_with(&flags);
    let answer = register(&server, "w1", json!({"queues": ["a"], "concurrency": 4}));
    assert_eq!((&answer["ok"], &answer["worker_id"]), (&json!(true), &json!("w1")));
    assert_eq!(answer["heartbeat_interval"].as_f64(), Some(2.0));
    assert_eq!(answer["heartbeat_timeout"].as_f64(), Some(9.0));
    assert_eq!(answer["visibility_timeout_default"].as_f64(), Some(1800.0));
    server.post("/ojs/v1/workers", json!({"id": "w2"})).expect(200);
    server.post("/ojs/v1/workers/register", json!({})).expect_error(400, "invalid_request");
    let none = json!({"worker_id": "w3", "concurrency": 0});
    server.post("/ojs/v1/workers/register", none).expect_error(422, "invalid_request");
}

#[test]
fn heartbeats_name_their_jobs_in_any_of_three_ways() {
    let server = Server::start();
    server.enqueue(job_on("q"));
    let id = text(&fetch_as(&server, "w1", 1)[0]["id"]);
    for more in [
        json!({"active_jobs": [id]}),
        json!({"active_jobs": 1, "active_job_ids": [id]}),
        json!({"active_job_ids": [id]}),
        json!({"active_jobs": [id], "active_job_ids": [id]}),
    ] {
        let beat = heartbeat(&server, "w1", more.clone()).expect(200);
        assert_eq!(beat["jobs_extended"], json!([id]), "{more}");
        assert_eq!(beat["state"], "running");
        assert!(beat["server_time"].is_string());
    }
    let beat = heartbeat(&server, "w1", json!({"active_jobs": 1})).expect(200);
    assert_eq!(beat["jobs_extended"], json!([]));
    heartbeat(&server, "w1", json!({"active_jobs": "all"})).expect_error(400, "invalid_request");
    heartbeat(&server, "w1", json!({"state": "asleep"})).expect_error(422, "invalid_request");
    server.post("/ojs/v1/workers/heartbeat", json!({})).expect_error(400, "invalid_request");
}

#[test]
fn a_heartbeat_tells_which_jobs_the_worker_does_not_hold() {
    let server = Server::start();
    server.enqueue(job_on("q"));
    let id = text(&fetch_as(&server, "w1", 1)[0]["id"]);
    ack(&server, &id);
    let unknown = crate::shorthand::NOBODY;
    let beat =
        heartbeat(&server, "w1", json!({"active_jobs": [id, unknown, "rubbish"]})).expect(200);
    let mut lost = beat["jobs_lost"].as_array().expect("a list").clone();
    lost.sort_by_key(Value::to_string);
    let mut expected = vec![json!(id), json!(unknown)];
    expected.sort_by_key(Value::to_string);
    assert_eq!(lost, expected);
}

#[test]
fn a_worker_becomes_what_the_operator_says() {
    let server = Server::start();
    register(&server, "w1", json!({}));
    let state = || heartbeat(&server, "w1", json!({})).expect(200)["state"].clone();
    assert_eq!(state(), "running");
    for (action, expected) in
        [("quiet", "quiet"), ("terminate", "terminate"), ("resume", "running")]
    {
        let path = format!("/ojs/v1/admin/workers/w1/{action}");
        assert_eq!(server.post(&path, json!({})).expect(200)["directive"], expected);
        assert_eq!(state(), expected);
    }
    let nobody = server.post("/ojs/v1/admin/workers/nobody/quiet", json!({}));
    nobody.expect_error(404, "not_found");
}

#[test]
fn a_quieted_worker_gets_nothing_and_may_finish() {
    let server = Server::start();
    let sent: Vec<String> = (0..3).map(|_| server.enqueue(job_on("q"))).collect();
    assert_eq!(ids(&fetch_as(&server, "w1", 1)), sent[..1]);
    for action in ["quiet", "terminate"] {
        server.post(&format!("/ojs/v1/admin/workers/w1/{action}"), json!({})).expect(200);
        assert!(fetch_as(&server, "w1", 5).is_empty(), "{action}");
    }
    ack(&server, &sent[0]);
    assert_eq!(ids(&fetch_as(&server, "w2", 1)), sent[1..2]);
    server.post("/ojs/v1/admin/workers/w1/resume", json!({})).expect(200);
    assert_eq!(ids(&fetch_as(&server, "w1", 5)), sent[2..]);
}

#[test]
fn a_worker_that_says_it_is_quiet_gets_nothing_until_it_runs_again() {
    let server = Server::start();
    let sent: Vec<String> = (0..3).map(|_| server.enqueue(job_on("q"))).collect();
    let says = |state: &str| heartbeat(&server, "w1", json!({"state": state})).expect(200);
    for (state, count) in [("quiet", 0), ("running", 1), ("terminate", 0), ("running", 1)] {
        says(state);
        // A heartbeat that does not speak of it changes nothing.
        heartbeat(&server, "w1", json!({})).expect(200);
        assert_eq!(fetch_as(&server, "w1", 1).len(), count, "{state}");
    }
    server.post("/ojs/v1/admin/workers/w1/quiet", json!({})).expect(200);
    says("running");
    assert!(fetch_as(&server, "w1", 1).is_empty(), "the operator has not changed his mind");
    server.post("/ojs/v1/admin/workers/w1/resume", json!({})).expect(200);
    assert_eq!(ids(&fetch_as(&server, "w1", 1)), sent[2..]);
}

#[test]
fn registering_again_resets_what_a_worker_reported() {
    let server = Server::start();
    server.enqueue(job_on("q"));
    heartbeat(&server, "w1", json!({"state": "terminate"})).expect(200);
    register(&server, "w1", json!({}));
    assert_eq!(fetch_as(&server, "w1", 1).len(), 1);
}

#[test]
fn a_directive_survives_a_restart() {
    let mut server = Server::start();
    register(&server, "w1", json!({}));
    server.post("/ojs/v1/admin/workers/w1/quiet", json!({})).expect(200);
    server.restart();
    assert_eq!(heartbeat(&server, "w1", json!({})).expect(200)["state"], "quiet");
}

#[test]
fn a_worker_holds_no_more_jobs_than_its_concurrency() {
    let server = Server::start();
    register(&server, "w1", json!({"concurrency": 2}));
    let sent: Vec<String> = (0..6).map(|_| server.enqueue(job_on("q"))).collect();
    assert_eq!(fetch_as(&server, "w1", 5).len(), 2);
    assert!(fetch_as(&server, "w1", 5).is_empty());
    ack(&server, &sent[0]);
    assert_eq!(fetch_as(&server, "w1", 5).len(), 1);
    nack(&server, &sent[1], boom());
    server.delete(&format!("/ojs/v1/jobs/{}", sent[2])).expect(200);
    assert_eq!(fetch_as(&server, "w1", 5).len(), 2);
    assert_eq!(fetch_as(&server, "w2", 5).len(), 1);
}

#[test]
fn a_worker_stays_in_its_pool() {
    let server = Server::start();
    for pool in ["blue", "red"] {
        server.put(&format!("/ojs/v1/admin/pools/{pool}"), json!({"queues": ["q"]})).expect(201);
    }
    register(&server, "w1", json!({"pool": "blue"}));
    server.enqueue(job_on("q"));
    let fetch = |pool: Option<&str>| {
        let ask = json!({"queues": ["q"], "worker_id": "w1", "pool": pool});
        server.post("/ojs/v1/workers/fetch", ask)
    };
    let error = fetch(Some("red")).expect_error(422, "invalid_request");
    assert_eq!(error["details"]["pool"], "blue");
    let other = json!({"worker_id": "w1", "pool": "red"});
    server.post("/ojs/v1/workers/register", other).expect_error(422, "invalid_request");
    assert_eq!(fetch(Some("blue")).expect(200)["jobs"].as_array().map(Vec::len), Some(1));
    fetch(None).expect(200);
}

#[test]
fn a_worker_deregisters() {
    let server = Server::start();
    register(&server, "w1", json!({}));
    register(&server, "w2", json!({}));
    let body = server.post("/ojs/v1/workers/deregister", json!({"worker_id": "w1"})).expect(200);
    assert_eq!(body["deregistered"], true);
    server.delete("/ojs/v1/workers/w2").expect(200);
    server.delete("/ojs/v1/workers/w2").expect_error(404, "not_found");
    assert_eq!(server.get("/ojs/v1/admin/workers").expect(200)["summary"]["total"], 0);
}

#[test]
fn the_jobs_of_a_deregistered_worker_stay_with_it_until_they_are_settled() {
    let server = Server::start();
    let id = server.enqueue(job_on("q"));
    fetch_as(&server, "w1", 1);
    server.delete("/ojs/v1/workers/w1").expect(200);
    assert_eq!(server.job(&id)["state"], "active");
    let body = json!({"job_id": id, "worker_id": "w1"});
    server.post("/ojs/v1/workers/ack", body).expect(200);
}
