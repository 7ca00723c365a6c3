//! Why a job does not run: each reason by its code.

use serde_json::{Value, json};

use crate::api::{
    assert_has, assert_members, caller, enqueue_many, fetch, fresh, limited, list, of, of_with,
    put_pool, put_tenant, shared, start,
};
use crate::shorthand::{ack, boom, eventually, fresh_queue, job_on, job_with, nack, text};
use crate::support::Server;
use crate::watch::from_now;

fn explain(server: &Server, id: &str) -> Value {
    server.get(&format!("/ojs/v1/admin/jobs/{id}/explain")).expect(200)
}

fn codes(answer: &Value) -> Vec<String> {
    list(&answer["reasons"]).iter().map(|reason| text(&reason["code"])).collect()
}

#[track_caller]
fn assert_reason(server: &Server, id: &str, code: &str) -> Value {
    let answer = explain(server, id);
    assert_has(&answer, json!({"job_id": id}));
    assert!(codes(&answer).iter().any(|one| one == code), "{code} is missing in {answer}");
    assert!(answer["summary"].as_str().is_some_and(|words| !words.is_empty()), "{answer}");
    assert!(list(&answer["reasons"]).iter().all(|reason| reason["message"].is_string()));
    answer
}

#[track_caller]
fn assert_held(server: &Server, id: &str, code: &str) -> Value {
    let answer = assert_reason(server, id, code);
    assert_eq!(answer["runnable"], false, "{answer}");
    answer
}

#[test]
fn nobody_asks_for_the_job() {
    let server = shared();
    let queue = fresh_queue();
    let id = server.enqueue(job_on(&queue));
    let answer = assert_reason(&server, &id, "no_worker");
    assert_has(&answer, json!({"state": "available"}));
    assert_has(&answer["queue"], json!({"name": queue, "paused": false, "workers_waiting": 0}));
    assert_members(&answer, &["runnable", "earliest_start", "position", "tenant", "limits"]);
    server
        .get(&format!("/ojs/v1/admin/jobs/{}/explain", crate::shorthand::NOBODY))
        .expect_error(404, "not_found");
}

#[test]
fn others_are_before_it() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    let sent = enqueue_many(&server, &of(&acme, &queue), 4);
    let answer = assert_reason(&server, &sent[2], "in_line");
    assert_eq!(answer["position"]["jobs_ahead"], 2, "{answer}");
    assert_members(&answer["position"], &["in_lane", "of_tenant"]);
    assert_has(&answer["tenant"], json!({"id": acme, "weight": 1}));
}

#[test]
fn the_queue_is_paused() {
    let server = shared();
    let queue = fresh_queue();
    let id = server.enqueue(job_on(&queue));
    server.post(&format!("/ojs/v1/queues/{queue}/pause"), json!({})).expect(200);
    let answer = assert_held(&server, &id, "queue_paused");
    assert_eq!(answer["queue"]["paused"], true);
}

#[test]
fn the_tenants_shard_is_paused() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    let id = server.enqueue(of(&acme, &queue));
    caller(&server, &acme).post(&format!("/ojs/v1/queues/{queue}/pause"), json!({})).expect(200);
    assert_held(&server, &id, "tenant_paused");
}

#[test]
fn the_server_is_in_maintenance() {
    let server = start(&[]);
    let id = server.enqueue(job_on("q"));
    server.post("/ojs/v1/admin/system/maintenance", json!({"enabled": true})).expect(200);
    assert_held(&server, &id, "maintenance");
}

#[test]
fn its_time_has_not_come() {
    let server = shared();
    let queue = fresh_queue();
    let at = "2099-01-01T00:00:00Z";
    let scheduled = server.enqueue(job_with(&queue, json!({"scheduled_at": at})));
    let answer = assert_held(&server, &scheduled, "scheduled");
    assert!(
        answer["earliest_start"]
            .as_str()
            .is_some_and(|time| time.starts_with("2099-01-01T00:00:00"))
    );
    let pending = server.enqueue(job_with(&queue, json!({"pending": true})));
    assert_held(&server, &pending, "pending");
    let retried = server.enqueue(job_with(&queue, json!({"retry": {"initial_interval": "PT1H"}})));
    server.fetch(&queue, 1);
    nack(&server, &retried, boom());
    let answer = assert_held(&server, &retried, "retry_delay");
    assert!(answer["earliest_start"].is_string(), "{answer}");
}

#[test]
fn it_runs_or_has_ended() {
    let server = shared();
    let queue = fresh_queue();
    let id = server.enqueue(job_on(&queue));
    server.fetch(&queue, 1);
    assert_reason(&server, &id, "active");
    ack(&server, &id);
    let answer = assert_held(&server, &id, "finished");
    assert_eq!(answer["state"], "completed");
}

#[test]
fn a_limit_holds_it() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit = json!({"key": key, "rate": {"limit": 1, "period": "PT1H"}});
    let sent = enqueue_many(&server, &limited(&queue, limit), 2);
    server.fetch(&queue, 9);
    let answer = assert_held(&server, &sent[1], "limit");
    let limits = list(&answer["limits"]);
    let held = limits.iter().find(|limit| limit["key"] == *key).unwrap();
    assert_has(held, json!({"strategy": "rate", "limit": 1, "current": 1}));
    assert!(held["opens_at"].is_string(), "{answer}");
    assert!(answer["earliest_start"].is_string(), "{answer}");
}

#[test]
fn jobs_of_its_key_with_larger_numbers_overtake_it() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let with = |most: u64| limited(&queue, json!({"key": key, "concurrency": most}));
    let small = enqueue_many(&server, &with(1), 2);
    let held = |answer: Value| list(&answer["limits"])[0].clone();
    server.fetch(&queue, 1);
    assert_has(&held(assert_held(&server, &small[1], "limit")), json!({"overtaken": false}));
    enqueue_many(&server, &with(5), 1);
    let answer = assert_held(&server, &small[1], "limit");
    let said = list(&answer["reasons"])[0]["message"].to_string();
    assert!(said.contains("larger numbers"), "{answer}");
    assert_has(&held(answer), json!({"overtaken": true}));
}

#[test]
fn a_pause_of_its_limit_holds_it() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let id = server.enqueue(limited(&queue, json!({"key": key, "concurrency": 5})));
    let path = format!("/ojs/v1/rate-limits/{key}");
    server.put(&path, json!({"paused_until": from_now(60_000)})).expect(200);
    let answer = assert_held(&server, &id, "limit_paused");
    assert!(answer["earliest_start"].is_string(), "{answer}");
}

#[test]
fn its_tenant_has_no_slot() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_concurrency": 1}}));
    let sent = enqueue_many(&server, &of(&acme, &queue), 2);
    server.fetch(&queue, 9);
    let answer = assert_held(&server, &sent[1], "tenant_concurrency");
    assert_has(&answer["tenant"], json!({"id": acme, "active": 1, "max_concurrency": 1}));
}

#[test]
fn its_queue_has_no_slot() {
    let server = shared();
    let queue = fresh_queue();
    let path = format!("/ojs/v1/admin/queues/{queue}/config");
    server.put(&path, json!({"concurrency": 1})).expect(200);
    let sent = enqueue_many(&server, &job_on(&queue), 2);
    server.fetch(&queue, 9);
    assert_held(&server, &sent[1], "queue_concurrency");
}

#[test]
fn its_pool_has_no_slot() {
    let server = shared();
    for isolated in [true, false] {
        let (pool, queue) = (fresh("pool"), fresh_queue());
        let config = json!({"queues": [queue], "concurrency": 1, "isolated": isolated});
        put_pool(&server, &pool, config);
        let sent = enqueue_many(&server, &job_on(&queue), 3);
        let ask = json!({"queues": [queue], "pool": pool, "worker_id": fresh("w"), "count": 9});
        fetch(&server, ask);
        assert_held(&server, &sent[1], "pool_concurrency");
        // Somebody in no pool may come again, where that is allowed.
        server.fetch(&queue, 1);
        let codes = codes(&explain(&server, &sent[2]));
        assert_eq!(codes.contains(&"pool_concurrency".to_owned()), isolated, "{codes:?}");
    }
}

#[test]
fn every_reason_is_listed() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let id = server.enqueue(limited(&queue, json!({"key": key, "concurrency": 0})));
    server.post(&format!("/ojs/v1/queues/{queue}/pause"), json!({})).expect(200);
    assert_held(&server, &id, "limit");
    assert_held(&server, &id, "queue_paused");
}

#[test]
fn workers_that_wait_elsewhere_are_not_waiting_here() {
    let server = start(&[]);
    server.post("/ojs/v1/queues/here/pause", json!({})).expect(200);
    let id = server.enqueue(job_on("here"));
    std::thread::scope(|scope| {
        for name in ["here", "elsewhere"] {
            let ask = json!({"queues": [name], "wait_ms": 30_000});
            scope.spawn(|| fetch(&server, ask));
        }
        eventually("both wait", || {
            let stats = server.get("/ojs/v1/admin/stats").expect(200);
            (stats["waiting_fetches"] == 2).then_some(())
        });
        assert_eq!(explain(&server, &id)["queue"]["workers_waiting"], 1);
        server.post("/ojs/v1/queues/here/resume", json!({})).expect(200);
        server.enqueue(job_on("elsewhere"));
    });
}

#[test]
fn a_pool_with_room_is_not_called_full() {
    let (server, queue) = (shared(), fresh_queue());
    let (full, idle) = (fresh("full"), fresh("idle"));
    put_pool(&server, &full, json!({"queues": [queue], "concurrency": 1, "isolated": true}));
    put_pool(&server, &idle, json!({"queues": [queue], "concurrency": 1, "isolated": true}));
    server.enqueue(job_on(&queue));
    let id = server.enqueue(job_on(&queue));
    assert_eq!(fetch(&server, json!({"pool": full, "count": 9})).len(), 1);
    let answer = explain(&server, &id);
    assert_eq!(codes(&answer), ["in_line"], "{answer}");
}

#[test]
fn a_queue_that_is_kept_for_a_pool_wants_a_worker_of_it() {
    let (server, queue) = (shared(), fresh_queue());
    put_pool(&server, &fresh("gpu"), json!({"queues": [queue], "isolated": true}));
    let id = server.enqueue(job_on(&queue));
    assert!(fetch(&server, json!({"queues": [queue]})).is_empty());
    let answer = assert_reason(&server, &id, "no_worker");
    assert!(text(&answer["summary"]).contains("pool"), "{answer}");
}

#[test]
fn others_are_more_urgent() {
    let server = shared();
    let (own, other, queue) = (fresh("own"), fresh("other"), fresh_queue());
    let id = server.enqueue(of(&own, &queue));
    let urgent =
        |tenant: &str, priority: i64| of_with(tenant, &queue, json!({"priority": priority}));
    enqueue_many(&server, &urgent(&own, 10), 3);
    enqueue_many(&server, &urgent(&other, 50), 5);
    server.fetch(&queue, 1);
    let answer = assert_held(&server, &id, "priority");
    assert!(answer["earliest_start"].is_null(), "{answer}");
    let place = json!({"jobs_ahead": 3, "in_lane": 1, "of_tenant": 4, "tenants_above": 1});
    assert_has(&answer["position"], place);
    server.fetch(&queue, 7);
    let answer = explain(&server, &id);
    assert_has(&answer, json!({"runnable": true}));
    assert_eq!(codes(&answer), ["in_line"]);
}

#[test]
fn those_before_it_use_up_what_a_limit_lets_through() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let rate = json!({"key": key, "rate": {"limit": 2, "period": "PT1H"}});
    let sent = enqueue_many(&server, &limited(&queue, rate), 7);
    server.fetch(&queue, 9);
    let hours = |id: &str| {
        let at: jiff::Timestamp =
            text(&explain(&server, id)["earliest_start"]).parse().expect("a time");
        let left = at.duration_since(jiff::Timestamp::now());
        (left.as_secs_f64() / 3_600.0).round() as i64
    };
    let all: Vec<i64> = sent[2..].iter().map(|id| hours(id)).collect();
    assert_eq!(all, [1, 1, 2, 2, 3]);
    // Other numbers end with their time.
    let path = format!("/ojs/v1/rate-limits/{key}");
    server.put(&path, json!({"concurrency": 0, "expires_in": "PT2H"})).expect(200);
    assert_eq!(hours(&sent[2]), 2);
}

#[test]
fn a_worker_for_another_tenant_is_none_for_its_own() {
    let server = shared();
    let (own, other, queue) = (fresh("own"), fresh("other"), fresh_queue());
    let id = server.enqueue(of(&own, &queue));
    server.enqueue(of(&other, &queue));
    let ask = json!({"queues": [queue], "count": 1});
    caller(&server, &other).post("/ojs/v1/workers/fetch", ask.clone()).expect(200);
    let answer = assert_reason(&server, &id, "no_worker");
    assert!(
        text(&answer["summary"]).starts_with("Only workers that serve other tenants"),
        "{answer}"
    );
    caller(&server, &own).post("/ojs/v1/workers/fetch", ask).expect(200);
    let another = server.enqueue(of(&own, &queue));
    assert!(!codes(&explain(&server, &another)).contains(&"no_worker".to_owned()));
}
