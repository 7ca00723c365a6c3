//! Query parameters: unknown and repeated ones are errors, and those that clients send are served.

use serde_json::{Value, json};

use crate::shorthand::job_on;
use crate::support::Server;

fn error(server: &Server, method: &str, path: &str) -> Value {
    let answer = server.send(method, &format!("/ojs/v1/{path}"), &[], None);
    let error = answer.expect(400)["error"].clone();
    assert_eq!(error["code"], "invalid_request", "{method} {path}: {error}");
    error
}

#[test]
fn parameters_that_a_route_does_not_have_are_errors() {
    let server = Server::start();
    let job = server.enqueue(job_on("a"));
    let routes = [
        ("GET", "health"),
        ("POST", "jobs"),
        ("POST", "jobs/batch"),
        ("POST", "workers/fetch"),
        ("POST", "workers/ack"),
        ("GET", "queues"),
        ("GET", "queues/a"),
        ("POST", "queues/a/pause"),
        ("GET", "dead-letter"),
        ("GET", "dead-letter/stats"),
        ("GET", "cron"),
        ("GET", "events"),
        ("GET", "events/stream"),
        ("GET", "rate-limits"),
        ("GET", "metrics"),
        ("GET", "admin/workers"),
        ("GET", "admin/pools"),
        ("GET", "admin/queues"),
        ("GET", "admin/jobs"),
        ("GET", "admin/dead-letter"),
        ("GET", "admin/tenants"),
        ("DELETE", "admin/tenants/_default"),
        ("GET", "admin/scheduling/stats"),
        ("GET", "admin/stats/history"),
        ("HEAD", "admin/system/config"),
    ];
    for (method, route) in routes {
        let path = format!("{route}?foo=1");
        if method == "HEAD" {
            let answer = server.send(method, &format!("/ojs/v1/{path}"), &[], None);
            assert_eq!(answer.status, 400, "{path}");
            continue;
        }
        let error = error(&server, method, &path);
        assert_eq!(error["details"]["field"], "foo", "{path}: {error}");
        assert!(error["details"]["known"].is_array(), "{path}: {error}");
    }
    error(&server, "DELETE", &format!("jobs/{job}?force=true"));
    assert_eq!(server.get(&format!("/ojs/v1/jobs/{job}")).expect(200)["job"]["state"], "available");
}

#[test]
fn the_error_names_the_nearest_parameter() {
    let server = Server::start();
    let error = error(&server, "GET", "admin/jobs?per-pages=5");
    assert_eq!(error["details"]["nearest"], "per_page", "{error}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("'per_page'") && hint.contains("exclude_terminal"), "{hint}");
}

#[test]
fn a_parameter_is_given_once_and_under_one_name() {
    let server = Server::start();
    for (path, field) in [
        ("admin/jobs?queue=a&queue=b", "queue"),
        ("admin/jobs?queue=a&queue=a", "queue"),
        ("events?types=job.enqueued&types=job.started", "types"),
        ("admin/jobs?tenant=a&tenant_id=b", "tenant_id"),
        ("rate-limits/k?tenant=a&tenant_id=b", "tenant_id"),
        ("dead-letter?limit=1&per_page=2", "limit"),
        ("cron?page=2&offset=3", "offset"),
        ("events?limit=x", "limit"),
    ] {
        let error = error(&server, "GET", path);
        assert_eq!(error["details"]["field"], field, "{path}: {error}");
    }
    server.get("/ojs/v1/dead-letter?limit=2&per_page=2&tenant=a&tenant_id=a").expect(200);
}

#[test]
fn what_clients_send_is_served() {
    let server = Server::start();
    let done = server.enqueue(job_on("a"));
    server.post("/ojs/v1/workers/fetch", json!({"queues": ["a"]})).expect(200);
    server.post("/ojs/v1/workers/ack", json!({"job_id": done})).expect(200);
    let waiting = server.enqueue(job_on("a"));
    // ojs-cli: export
    let page = server.get("/ojs/v1/admin/jobs?limit=10000&exclude_terminal=true").expect(200);
    assert_eq!(page["items"][0]["id"], json!(waiting), "{page}");
    assert_eq!(page["pagination"]["total"], 1, "{page}");
    let error = error(&server, "GET", "admin/jobs?exclude_terminal=true&state=completed");
    assert_eq!(error["details"]["field"], "exclude_terminal");
    // ojs-cli: metrics
    let metrics = server.send("GET", "/ojs/v1/metrics?format=prometheus", &[], None);
    assert_eq!(metrics.status, 200);
    server.get("/ojs/v1/metrics?format=json").expect(400);
}
