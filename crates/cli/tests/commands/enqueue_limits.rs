//! The limits that a job carries, and what a server says to those over theirs.

use serde_json::json;

use crate::fake::{Scripted, answering, scripted};
use crate::run::{rota, rota_at, rota_reading};
use crate::support::Server;

const ENQUEUED: &str =
    r#"{"job": {"id": "j1", "type": "a.b", "queue": "q", "args": [], "state": "available"}}"#;

#[test]
fn every_option_of_a_limit_arrives() {
    let server = scripted(&[(201, ENQUEUED)]);
    #[rustfmt::skip]
    let arguments = [
        "enqueue", "a.b", "--limit-key", "stripe", "--limit-concurrency", "5", "--limit-rate",
        "100/1m", "--limit-throttle", "10/s", "--on-limit", "reschedule", "--limit-scope", "tenant",
        "--tenant", "acme",
    ];
    assert_eq!(rota_at(&server.url, &arguments).printed(), "j1\n");
    let body = concat!(
        r#"{"type":"a.b","args":[],"rate_limit":{"key":"stripe","concurrency":5,"#,
        r#""rate":{"limit":100,"period":"PT1M"},"throttle":{"limit":10,"period":"PT1S"},"#,
        r#""on_limit":"reschedule","scope":"tenant"}}"#
    );
    assert_eq!(without_ids(&server), [format!("POST /ojs/v1/jobs {body} as acme")]);
}

#[test]
fn a_job_without_limits_says_nothing_of_them() {
    let server = scripted(&[(201, ENQUEUED)]);
    rota_at(&server.url, &["enqueue", "a.b"]).printed();
    assert_eq!(without_ids(&server), [r#"POST /ojs/v1/jobs {"type":"a.b","args":[]}"#]);
}

/// What the server was asked, without the ids that the client gave to jobs.
fn without_ids(server: &Scripted) -> Vec<String> {
    let without = |asked: String| match asked.split_once("{\"id\":\"") {
        Some((before, rest)) => format!("{before}{{{}", rest.split_once("\",").unwrap().1),
        None => panic!("the client gives every job an id: {asked}"),
    };
    server.asked().into_iter().map(without).collect()
}

#[test]
fn schedules_take_the_same_options() {
    let server = scripted(&[(201, r#"{"cron": {"name": "n", "expression": "@hourly"}}"#)]);
    let arguments = ["cron", "add", "n", "@hourly", "a.b", "--limit-key", "k"];
    rota_at(&server.url, &arguments).printed();
    assert!(server.asked()[0].contains(r#""rate_limit":{"key":"k"}"#), "{:?}", server.asked());
}

#[test]
fn mistakes_in_limits_are_explained() {
    let message =
        |arguments: &[&str]| rota_at("", &[&["enqueue", "a.b"], arguments].concat()).failed(2);
    assert!(message(&["--limit-rate", "100"]).contains("a rate such as 100/1m"));
    assert!(message(&["--limit-throttle", "1/0s"]).contains("a rate such as 100/1m"));
    assert!(message(&["--on-limit", "x"]).contains("possible values: wait, reschedule, drop"));
    assert!(message(&["--limit-scope", "x"]).contains("possible values: global, tenant"));
    rota_at("", &["enqueue", "--file", "-", "--limit-key", "k"]).failed(2);
}

#[test]
fn a_tenant_over_its_limit_gets_a_retry_after() {
    let url = answering(
        "429 Too Many Requests\r\nRetry-After: 30",
        r#"{"error": {"code": "TENANT_LIMIT_EXCEEDED", "message": "Tenant 'acme' has exceeded max_queue_depth (50000)",
            "tenant_id": "acme", "limit": "max_queue_depth", "current": 50000, "maximum": 50000}}"#,
    );
    let message = rota_at(&url, &["enqueue", "a.b"]).failed(5);
    assert_eq!(
        message,
        "rota: Tenant 'acme' has exceeded max_queue_depth (50000)\nTry again after 30 seconds.\n"
    );
    let error = rota_at(&url, &["enqueue", "a.b", "--json"]).json_error(5);
    assert_eq!(
        (&error["code"], &error["retry_after"]),
        (&"TENANT_LIMIT_EXCEEDED".into(), &30.into())
    );
}

#[test]
fn a_hint_about_retry_after_shows_the_seconds() {
    let server = Server::start();
    let limits = json!({"limits": {"max_enqueue_rate": {"limit": 1, "period": "PT1H"}}});
    server.put("/ojs/v1/admin/tenants/acme", limits).expect(201);
    rota(&server, &["enqueue", "a.b", "--tenant", "acme"]).printed();
    let message = rota(&server, &["enqueue", "a.b", "--tenant", "acme"]).failed(5);
    assert!(!message.contains("Retry-After"), "{message}");
    assert!(message.contains(" after 3,") && message.contains(" seconds"), "{message}");
}

#[test]
fn an_exceeded_soft_quota_is_reported() {
    let server = Server::start();
    let soft = json!({"limits": {"max_queue_depth": 1}, "quota": "soft"});
    server.put("/ojs/v1/admin/tenants/acme", soft).expect(201);
    let enqueue = ["enqueue", "a.b", "--tenant", "acme"];
    rota(&server, &enqueue).printed();
    let ran = rota(&server, &enqueue);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1), "{}", ran.stdout);
    assert_eq!(ran.stderr, "warning: the tenant is over its quota: max_queue_depth\n");
    let job = rota(&server, &[&enqueue[..], &["--json"]].concat()).json();
    assert_eq!(job["quota_exceeded"], json!(["max_queue_depth"]));
    assert_eq!((&job["type"], &job["state"]), (&json!("a.b"), &json!("available")));

    let lines = "{\"type\": \"a.b\", \"args\": []}\n".repeat(2);
    let file = ["enqueue", "--file", "-", "--tenant", "acme"];
    let ran = rota_reading(&server, &file, &lines);
    assert_eq!((ran.code, &*ran.stdout), (0, "enqueued 2 jobs in 1 batch\n"));
    assert_eq!(ran.stderr, "warning: the tenant is over its quota: max_queue_depth\n");
    let told = rota_reading(&server, &[&file[..], &["--json"]].concat(), &lines).json();
    let expected = json!({"enqueued": 2, "batches": 1, "quota_exceeded": ["max_queue_depth"]});
    assert_eq!(told, expected);
}
