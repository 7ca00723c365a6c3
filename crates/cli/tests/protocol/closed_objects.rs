//! Objects whose members are all known: a misspelled one is an error that names it and the nearest.

use serde_json::{Value, json};

use crate::shorthand::job_on;
use crate::support::{JSON, Server};

#[test]
fn unknown_members_are_errors() {
    let server = Server::start();
    let id = server.enqueue(job_on("a"));
    let job = |more: Value| json!({"type": "t", "args": [], "queue": "b", "retry": more});
    let limited =
        |limit: Value| json!({"type": "t", "args": [], "queue": "b", "rate_limit": limit});
    let cron = json!({"name": "n", "expression": "0 0 1 1 *", "job_template": {"type": "t"},
        "timezon": "UTC"});
    // Route, body, the member, and the one that was meant.
    let cases = [
        ("POST jobs", job(json!({"max_attemps": 5})), "retry.max_attemps", "max_attempts"),
        ("POST jobs", limited(json!({"concurency": 5})), "rate_limit.concurency", "concurrency"),
        (
            "POST jobs",
            limited(json!({"rate": {"limit": 5, "perod": "PT1S"}})),
            "rate_limit.rate.perod",
            "period",
        ),
        ("POST jobs/batch", json!({"jobs": [], "job": []}), "job", "jobs"),
        ("POST workers/fetch", json!({"queues": ["a"], "queue": "a"}), "queue", "queues"),
        ("POST workers/ack", json!({"job_id": id, "results": 1}), "results", "result"),
        ("POST workers/ack", json!({"jobs": [{"job_id": id, "results": 1}]}), "results", "result"),
        ("POST workers/ack", json!({"jobs": [{"job_id": id}], "job": 1}), "job", "jobs"),
        (
            "POST workers/nack",
            json!({"job_id": id, "error": {}, "re_queue": true}),
            "re_queue",
            "requeue",
        ),
        (
            "POST workers/heartbeat",
            json!({"worker_id": "w", "hostnam": "h"}),
            "hostnam",
            "hostname",
        ),
        ("POST workers/register", json!({"worker_id": "w", "queus": []}), "queus", "queues"),
        (
            "POST workers/register",
            json!({"worker": {"id": "w", "queus": []}}),
            "worker.queus",
            "queues",
        ),
        (
            "POST workers/deregister",
            json!({"worker_id": "w", "workerid": 1}),
            "workerid",
            "worker_id",
        ),
        ("POST cron", cron, "timezon", "timezone"),
        (
            "POST admin/jobs/bulk/cancel",
            json!({"confirm": true, "filters": {}}),
            "filters",
            "filter",
        ),
        (
            "POST admin/system/maintenance",
            json!({"enabled": false, "reson": "x"}),
            "reson",
            "reason",
        ),
        ("PUT admin/queues/a/config", json!({"concurency": 1}), "concurency", "concurrency"),
        (
            "POST admin/jobs/bulk/cancel",
            json!({"confirm": true, "filter": {"state": "active", "quue": "q"}}),
            "filter.quue",
            "queue",
        ),
        (
            "DELETE admin/queues/a/jobs",
            json!({"states": ["completed"], "confirm": true, "older": "x"}),
            "older",
            "",
        ),
        ("DELETE admin/queues/a", json!({"purg": true}), "purg", "purge"),
        ("PUT rate-limits/k", json!({"concurency": 1}), "concurency", "concurrency"),
        ("PUT admin/tenants/t", json!({"wight": 1}), "wight", "weight"),
        ("DELETE admin/tenants/_default", json!({"purg": true}), "purg", "purge"),
        ("POST admin/tenants/_default/release", json!({"reasons": "x"}), "reasons", "reason"),
        ("PUT admin/pools/p", json!({"queue": ["a"]}), "queue", "queues"),
    ];
    for (route, body, field, meant) in cases {
        let (method, path) = route.split_once(' ').unwrap();
        let text = body.to_string();
        let answer =
            server.send(method, &format!("/ojs/v1/{path}"), &[JSON], Some(text.as_bytes()));
        let error = answer.expect_error(422, "invalid_request");
        assert_eq!(error["details"]["field"], field, "{route}: {error}");
        let hint = error["hint"].as_str().unwrap();
        assert!(meant.is_empty() || hint.contains(&format!("'{meant}'")), "{route}: {error}");
    }
    assert_eq!(server.job(&id)["state"], "available", "nothing was carried out");
    server.get("/ojs/v1/queues/b").expect(404);
}

#[test]
fn what_two_names_say_must_agree() {
    let server = Server::start();
    let timeouts = json!({"queues": ["a"], "visibility_timeout": 5, "visibility_timeout_ms": 6});
    let error = server.post("/ojs/v1/workers/fetch", timeouts).expect(422);
    assert_eq!(error["error"]["details"]["field"], "visibility_timeout");
    let both = json!({"worker": {"id": "w"}, "worker_id": "v"});
    let error = server.post("/ojs/v1/workers/register", both).expect(422);
    assert_eq!(error["error"]["details"]["field"], "worker_id");
}

#[test]
fn open_objects_keep_what_they_do_not_know() {
    let server = Server::start();
    let id = server.enqueue(json!({"type": "t", "args": [], "queue": "a", "x_unknown": {"a": 1},
        "meta": {"anything": [1]}, "options": {"x_option": true}}));
    let job = server.job(&id);
    assert_eq!(job["x_unknown"], json!({"a": 1}));
    assert_eq!(job["meta"]["anything"], json!([1]));
    assert_eq!(job["options"]["x_option"], true);
    server.fetch("a", 1);
    let error = json!({"code": "c", "message": "m", "x_own": 1,
        "rate_limit_until": "2030-01-01T02:00:00+02:00"});
    server.post("/ojs/v1/workers/nack", json!({"job_id": id, "error": error})).expect(200);
    let kept = server.job(&id)["error"].clone();
    assert_eq!(kept["x_own"], 1, "{kept}");
    assert_eq!(kept["rate_limit_until"], "2030-01-01T00:00:00.000Z", "{kept}");
}

#[test]
fn members_that_clients_send_are_served() {
    let server = Server::start();
    // ojs-cli enqueue --max-attempts
    let job = json!({"type": "t", "args": [], "options": {"queue": "a", "max_attempts": 7}});
    let id = server.enqueue(job);
    assert_eq!(server.job(&id)["max_attempts"], 7);
    // ojs-admin-ui: rate limits and maintenance
    let limit = json!({"limit": 10, "period": "PT1M", "expires_at": "2099-01-01T00:00:00Z"});
    server.put("/ojs/v1/rate-limits/k", limit).expect(200);
    let shown = server.get("/ojs/v1/rate-limits/k").expect(200);
    assert_eq!(shown["rate"]["limit"], 10, "{shown}");
    let mode = json!({"enabled": true, "reason": "r", "duration": "PT1H"});
    let mode = server.post("/ojs/v1/admin/system/maintenance", mode).expect(200);
    assert!(mode["estimated_end"].is_string(), "{mode}");
    server.post("/ojs/v1/admin/system/maintenance", json!({"enabled": false})).expect(200);
    // Times are shown in UTC.
    let worker = json!({"worker_id": "w", "started_at": "2026-01-01T02:00:00+02:00"});
    server.post("/ojs/v1/workers/register", worker).expect(200);
    let shown = server.get("/ojs/v1/admin/workers/w").expect(200);
    assert_eq!(shown["started_at"], "2026-01-01T00:00:00.000Z", "{shown}");
}

#[test]
fn requests_that_have_nothing_to_say_take_no_members() {
    let server = Server::start();
    let id = server.enqueue(job_on("q"));
    server
        .post("/ojs/v1/cron", json!({"name": "c", "cron": "0 0 1 1 *", "type": "a.b"}))
        .expect(201);
    server.post("/ojs/v1/workers/register", json!({"worker_id": "w"})).expect(200);
    let send = |route: &str, body: &str| {
        let (method, path) = route.split_once(' ').unwrap();
        server.send(method, &format!("/ojs/v1/{path}"), &[JSON], Some(body.as_bytes()))
    };
    let job = |action: &str| format!("POST jobs/{id}/{action}");
    let routes = [
        "POST queues/q/pause",
        "POST queues/q/resume",
        "POST admin/queues/q/pause",
        "POST admin/queues/q/resume",
        "POST cron/c/pause",
        "POST cron/c/resume",
        "POST cron/c/trigger",
        "POST crons/c/trigger",
        "DELETE cron/c",
        "POST admin/workers/w/quiet",
        "POST admin/workers/w/terminate",
        "POST admin/workers/w/resume",
        "DELETE admin/workers/w",
        "DELETE workers/w",
        "DELETE rate-limits/k",
        "DELETE admin/queues/q/rate-limit",
        "DELETE admin/job-types/test.job/rate-limit",
        "DELETE admin/pools/p",
        &job("cancel"),
        &job("activate"),
        &format!("DELETE jobs/{id}"),
        &format!("POST admin/jobs/{id}/cancel"),
        &format!("POST admin/jobs/{id}/retry"),
        &format!("DELETE dead-letter/{id}"),
        &format!("DELETE admin/dead-letter/{id}"),
    ];
    for route in routes {
        let error = send(route, r#"{"reason": "x"}"#).expect_error(400, "invalid_request");
        assert_eq!(error["details"]["field"], "reason", "{route}: {error}");
        for body in ["[]", "null", "{", "x"] {
            assert_eq!(send(route, body).status, 400, "{route} with {body}");
        }
    }
    assert_eq!(server.job(&id)["state"], "available", "nothing was carried out");
    for route in ["POST queues/q/pause", "POST cron/c/pause", &job("cancel"), "DELETE workers/w"] {
        send(route, "{}").expect(200);
    }
    server.send("POST", "/ojs/v1/queues/q/resume", &[], None).expect(200);
}
