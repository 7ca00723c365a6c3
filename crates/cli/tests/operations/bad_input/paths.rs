//! Paths, names and methods that lead nowhere.

use serde_json::json;

use super::{ask, assert_alive, assert_decided, assert_refusal, assert_refused_with, post};
use crate::support::Server;
use crate::wire::{Wire, request};

#[test]
fn paths_do_not_lead_out() {
    let server = Server::start();
    let long = format!("/ojs/v1/jobs/{}", "a".repeat(10_000));
    let deep = format!("/ojs/v1{}", "/a".repeat(10_000));
    let dots = format!("/ojs/v1/jobs{}", "/..".repeat(1_000));
    for path in [
        "/",
        "//",
        "/ojs",
        "/ojs/",
        "/ojs/v1",
        "/ojs/v1/",
        "//ojs/v1/jobs",
        "/ojs//v1//jobs",
        "/ojs/v2/jobs",
        "/ojs/v1/jobs/",
        "/ojs/v1/jobs//",
        "/ojs/v1/jobs/../../etc/passwd",
        "/ojs/v1/jobs/%2e%2e/%2e%2e/etc/passwd",
        "/ojs/v1/jobs/..%2f..%2fetc%2fpasswd",
        "/ojs/v1/jobs/%00",
        "/ojs/v1/jobs/%ff%fe",
        "/ojs/v1/jobs/%",
        "/ojs/v1/jobs/%zz",
        "/ojs/v1/jobs/{id}",
        "/ojs/v1/jobs/*",
        "/ojs/v1/jobs/01976a3c-0000-7000-8000-00000000000f%20",
        "/ojs/v1/jobs/01976A3C-0000-7000-8000-00000000000F",
        "/ojs/v1/cron/%00",
        "/ojs/v1/dead-letter/%2e%2e",
        "/ojs/v1/queues/%2e%2e",
        "/ojs/v1/queues/%00/stats",
        "/ojs/v1/queues/Nope",
        "/ojs/v1/admin/workers/%ff",
        "/ojs/v1/admin/queues/..",
        "/ojs/v1/jobs/;id=1",
        "/etc/passwd",
        "/.env",
        "http://elsewhere.example/ojs/v1/jobs/x",
        &long,
        &deep,
        &dots,
    ] {
        let answer = ask(&server, "GET", path, b"");
        let what = &path[..path.len().min(100)];
        assert_refused_with(&answer, &[400, 404, 405], what);
        assert!(answer.text().len() < 25_000, "{what}: the path comes back at full length");
    }
    assert_alive(&server);
}

#[test]
fn a_path_that_goes_on_for_ever_is_cut_off() {
    let server = Server::start();
    let mut wire = Wire::open(server.address()).unwrap();
    let path = format!("/ojs/v1/jobs/{}", "a".repeat(100_000));
    // It may hang up before it has been sent all of it.
    let _ = wire.write(&request("GET", &path, &[], b""));
    if let Ok(answer) = wire.answer() {
        assert!((400..500).contains(&answer.status), "{}", answer.status);
    }
    assert_alive(&server);
}

#[test]
fn query_strings_are_taken_or_refused() {
    let server = Server::start();
    let long = format!("queue={}", "a".repeat(10_000));
    for query in [
        "state=asleep",
        "state=%00",
        "queue=%ff",
        "queue=Nope",
        "type=*",
        "type=%2a%2a",
        "sort=name",
        "order=sideways",
        "cursor=c",
        "cursor=cffffffffffffffff",
        "cursor=cfffffffffffffffff",
        "cursor=-1",
        "limit=0",
        "=",
        "&&&",
        "%",
        "a=b=c",
        "limit=1&limit=2",
        &long,
    ] {
        for path in ["/ojs/v1/admin/jobs", "/ojs/v1/dead-letter", "/ojs/v1/events"] {
            let path = format!("{path}?{query}");
            assert_decided(&ask(&server, "GET", &path, b""), &path[..path.len().min(100)]);
        }
    }
    assert_alive(&server);
}

#[test]
fn names_of_ten_thousand_characters_are_refused() {
    let server = Server::start();
    let name = "a".repeat(10_000);
    for (path, body) in [
        ("/ojs/v1/jobs", json!({"type": name, "args": []})),
        ("/ojs/v1/jobs", json!({"type": "a", "args": [], "queue": name})),
        ("/ojs/v1/jobs", json!({"type": "a", "args": [], "id": name})),
        ("/ojs/v1/jobs", json!({"type": "a", "args": [], "specversion": name})),
        ("/ojs/v1/jobs", json!({"type": "a", "args": [], "retry": {"backoff_strategy": name}})),
        ("/ojs/v1/workers/fetch", json!({"queues": [name]})),
        ("/ojs/v1/workers/fetch", json!({"queues": ["q"], "worker_id": name})),
        ("/ojs/v1/workers/fetch", json!({"queues": ["q"], "pool": name})),
        ("/ojs/v1/workers/fetch", json!({"queues": vec!["q"; 1000]})),
        ("/ojs/v1/workers/ack", json!({"job_id": name})),
        ("/ojs/v1/workers/heartbeat", json!({"worker_id": name})),
        ("/ojs/v1/workers/register", json!({"worker_id": name})),
        ("/ojs/v1/workers/register", json!({"worker_id": "w", "labels": vec!["x"; 1000]})),
        ("/ojs/v1/cron", json!({"name": name, "expression": "* * * * *", "type": "a"})),
        ("/ojs/v1/cron", json!({"name": "n", "expression": name, "type": "a"})),
        (
            "/ojs/v1/cron",
            json!({"name": "n", "expression": "@daily", "timezone": name, "type": "a"}),
        ),
    ] {
        assert_refused_with(&post(&server, path, &body), &[400, 422], path);
    }
    for path in ["/ojs/v1/queues/", "/ojs/v1/admin/workers/", "/ojs/v1/cron/"] {
        assert_refusal(&ask(&server, "GET", &format!("{path}{name}"), b""), path);
    }
    assert_alive(&server);
}

#[test]
fn methods_that_do_not_exist_are_refused() {
    let server = Server::start();
    for method in ["BREW", "get", "TRACE", "PROPFIND", "OPTIONS", "PUT", "A-B.C"] {
        let answer = ask(&server, method, "/ojs/v1/jobs", b"");
        assert_refused_with(&answer, &[405], method);
    }
    for (method, path) in [
        ("GET", "/ojs/v1/workers/fetch"),
        ("DELETE", "/ojs/v1/health"),
        ("POST", "/ojs/manifest"),
        ("PATCH", "/ojs/v1/admin/stats"),
    ] {
        assert_refused_with(&ask(&server, method, path, b""), &[405], path);
    }
    assert_alive(&server);
}
