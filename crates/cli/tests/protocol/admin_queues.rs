//! Queues, as an operator sees and handles them.

use serde_json::{Value, json};

use crate::shorthand::{ack, boom, eventually, ids, job_on, job_with, nack};
use crate::support::{JSON, Reply, Server, in_one_minute};

fn purge(server: &Server, queue: &str, body: Value) -> Reply {
    let path = format!("/ojs/v1/admin/queues/{queue}/jobs");
    server.send("DELETE", &path, &[JSON], Some(body.to_string().as_bytes()))
}

/// One job in each of four states, on one queue.
fn filled(server: &Server) -> [String; 4] {
    let completed = server.enqueue(job_on("q"));
    let discarded = server.enqueue(job_with("q", json!({"retry": {"max_attempts": 1}})));
    let active = server.enqueue(job_on("q"));
    assert_eq!(server.fetch("q", 3).len(), 3);
    let available = server.enqueue(job_on("q"));
    ack(server, &completed);
    nack(server, &discarded, boom());
    [completed, discarded, active, available]
}

#[test]
fn queues_are_listed_with_their_counts() {
    let server = Server::start();
    filled(&server);
    server.enqueue(job_on("a"));
    server.post("/ojs/v1/admin/queues/a/pause", json!({})).expect(200);
    let body = server.get("/ojs/v1/admin/queues").expect(200);
    let names: Vec<_> =
        body["items"].as_array().unwrap().iter().map(|q| q["name"].clone()).collect();
    assert_eq!(names, [json!("a"), json!("q")]);
    assert_eq!(
        (&body["items"][0]["state"], &body["items"][0]["paused"]),
        (&json!("paused"), &json!(true))
    );
    let expected = json!({"scheduled": 0, "available": 1, "pending": 0, "active": 1, "completed": 1,
        "retryable": 0, "cancelled": 0, "discarded": 1});
    assert_eq!(body["items"][1]["counts"], expected);
    let page = server.get("/ojs/v1/admin/queues?per_page=1&page=2").expect(200);
    assert_eq!(page["items"][0]["name"], "q");
    assert_eq!(
        page["pagination"],
        json!({"total": 2, "page": 2, "per_page": 1, "limit": 1, "offset": 1, "has_more": false})
    );
    let list = server.get("/ojs/v1/queues?limit=1").expect(200);
    assert_eq!(
        (&list["queues"][0]["name"], &list["pagination"]["has_more"]),
        (&json!("a"), &json!(true))
    );
    let cursor = list["pagination"]["next_cursor"].as_str().expect("a cursor");
    let rest = server.get(&format!("/ojs/v1/queues?limit=5&cursor={cursor}")).expect(200);
    assert_eq!(rest["queues"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_queue_is_shown_with_its_oldest_job_and_settings() {
    let server = Server::start();
    let [.., available] = filled(&server);
    let queue = server.get("/ojs/v1/admin/queues/q").expect(200);
    assert_eq!(queue["oldest_available_at"], server.job(&available)["enqueued_at"]);
    assert_eq!(queue["configuration"]["concurrency"], json!(null));
    assert_eq!(queue["counts"]["available"], 1);
    for part in ["throughput", "latency_ms"] {
        assert!(queue[part].is_object(), "{queue}");
    }
    server.fetch("q", 1);
    let queue = server.get("/ojs/v1/admin/queues/q").expect(200);
    assert_eq!(queue["oldest_available_at"], json!(null));
    server.get("/ojs/v1/admin/queues/none").expect_error(404, "not_found");
}

#[test]
fn statistics_count_what_was_done() {
    let body = in_one_minute(|| {
        let server = Server::start();
        filled(&server);
        server.get("/ojs/v1/queues/q/stats").expect(200)
    });
    let stats = &body["stats"];
    assert_eq!((&stats["completed_last_hour"], &stats["failed_last_hour"]), (&json!(1), &json!(1)));
    assert_eq!(stats["enqueued_last_hour"], 4);
    assert_eq!((&body["queue"]["name"], &body["queue"]["active"]), (&json!("q"), &json!(1)));
}

#[test]
fn statistics_of_the_last_hour_survive_a_restart() {
    let mut server = Server::start();
    filled(&server);
    assert!(server.terminate().success());
    server.restart();
    // A minute that has just ended is on its way to the history.
    eventually("one is completed", || {
        let body = server.get("/ojs/v1/queues/q/stats").expect(200);
        (body["stats"]["completed_last_hour"] == 1).then_some(())
    });
}

#[test]
fn a_purge_needs_confirmation_and_states() {
    let server = Server::start();
    filled(&server);
    let states = json!(["completed", "discarded"]);
    for body in [
        json!({"states": states}),
        json!({"states": states, "confirm": false}),
        json!({"confirm": true}),
        json!({"confirm": true, "states": []}),
        json!({"confirm": true, "states": ["lost"]}),
    ] {
        purge(&server, "q", body).expect_error(400, "invalid_request");
    }
    assert_eq!(server.get("/ojs/v1/queues/q").expect(200)["stats"]["completed"], 1);
    let body = json!({"confirm": true, "states": ["completed"]});
    purge(&server, "none", body).expect_error(404, "not_found");
}

#[test]
fn a_purge_removes_the_jobs_in_those_states_only() {
    let server = Server::start();
    let [completed, discarded, active, available] = filled(&server);
    server.enqueue(job_on("other"));
    let body = json!({"confirm": true, "states": ["completed", "discarded"]});
    assert_eq!(purge(&server, "q", body).expect(200)["purged_count"], 2);
    for gone in [completed, discarded] {
        server.get(&format!("/ojs/v1/jobs/{gone}")).expect_error(404, "not_found");
    }
    let body = json!({"confirm": true, "states": ["available", "active"]});
    let answer = purge(&server, "q", body).expect(200);
    assert_eq!((&answer["purged_count"], &answer["failed"]), (&json!(1), &json!(1)), "{answer}");
    server.get(&format!("/ojs/v1/jobs/{available}")).expect_error(404, "not_found");
    assert!(server.fetch("q", 5).is_empty());
    assert_eq!(ack(&server, &active)["state"], "completed");
    assert_eq!(server.fetch("other", 5).len(), 1);
}

#[test]
fn a_purge_may_spare_what_is_recent() {
    let server = Server::start();
    let [completed, ..] = filled(&server);
    let body = |older_than: &Value| json!({"confirm": true, "states": ["completed"], "older_than": older_than});
    let at = server.job(&completed)["completed_at"].clone();
    assert_eq!(purge(&server, "q", body(&at)).expect(200)["purged_count"], 0);
    purge(&server, "q", body(&json!("yesterday"))).expect_error(400, "invalid_request");
    let later = json!("2099-01-01T00:00:00Z");
    assert_eq!(purge(&server, "q", body(&later)).expect(200)["purged_count"], 1);
}

#[test]
fn a_purge_of_thousands_leaves_none() {
    let server = Server::start();
    for _ in 0..2 {
        server.post("/ojs/v1/jobs/batch", json!({"jobs": vec![job_on("q"); 600]})).expect(201);
    }
    let body = json!({"confirm": true, "states": ["available"]});
    assert_eq!(purge(&server, "q", body).expect(200)["purged_count"], 1200);
    assert!(server.fetch("q", 5).is_empty());
    assert_eq!(server.get("/ojs/v1/queues/q").expect(200)["stats"]["available"], 0);
}

#[test]
fn a_limited_queue_gives_out_no_more_than_its_concurrency() {
    let server = Server::start();
    let config = |body: Value| server.put("/ojs/v1/admin/queues/q/config", body);
    let body = config(json!({"concurrency": 2})).expect(200);
    assert_eq!(body["configuration"]["concurrency"], 2);
    let sent: Vec<String> = (0..6).map(|_| server.enqueue(job_on("q"))).collect();
    assert_eq!(ids(&server.fetch("q", 9)), sent[..2]);
    assert!(server.fetch("q", 9).is_empty());
    ack(&server, &sent[0]);
    server.delete(&format!("/ojs/v1/jobs/{}", sent[1])).expect(200);
    assert_eq!(ids(&server.fetch("q", 9)), sent[2..4]);
    config(json!({})).expect(200);
    assert_eq!(ids(&server.fetch("q", 9)), sent[4..]);
}

#[test]
fn a_queues_settings_survive_a_restart() {
    let mut server = Server::start();
    let body = json!({"concurrency": 1, "retention": {"completed": "P1D", "discarded": "PT90S"}});
    let path = "/ojs/v1/admin/queues/q/config";
    let set = server.put(path, body).expect(200)["configuration"].clone();
    server.restart();
    assert_eq!(server.get("/ojs/v1/admin/queues/q").expect(200)["configuration"], set);
    (0..3).for_each(|_| drop(server.enqueue(job_on("q"))));
    assert_eq!(server.fetch("q", 9).len(), 1);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let server = Server::start();
    let config = |body: Value| server.put("/ojs/v1/admin/queues/q/config", body);
    config(json!({"concurency": 2})).expect_error(422, "invalid_request");
    config(json!({"retention": {"lost": "PT0S"}})).expect_error(400, "invalid_request");
    config(json!({"concurrency": "two"})).expect_error(400, "invalid_request");
    config(json!({"concurrency": 0})).expect_error(422, "invalid_request");
    config(json!({"retention": {"completed": "a while"}})).expect_error(422, "invalid_request");
}

#[test]
fn pausing_and_resuming_tell_when() {
    let server = Server::start();
    let paused = server.post("/ojs/v1/admin/queues/q/pause", json!({})).expect(200);
    assert_eq!((&paused["state"], &paused["paused"]), (&json!("paused"), &json!(true)));
    let again = server.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    assert_eq!(again["paused_at"], paused["paused_at"]);
    let resumed = server.post("/ojs/v1/admin/queues/q/resume", json!({})).expect(200);
    assert_eq!((&resumed["state"], &resumed["paused"]), (&json!("active"), &json!(false)));
    assert!(resumed["resumed_at"].is_string());
}
