//! `rota audit list`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fake::scripted;
use crate::looks_like;
use crate::run::{rota, rota_at};
use crate::support::{Server, command};

const PAGE: &str = r#"{"items": [
    {"number": 8, "timestamp": "2026-11-18T10:31:42.003Z", "event_type": "auth.permission_denied",
     "outcome": "failure", "principal": "rk_7f3a", "auth_method": "api_key", "tenant_id": "acme",
     "source_ip": "198.51.100.42",
     "detail": {"method": "PUT", "route": "/ojs/v1/admin/tenants/{id}", "status": 403, "count": 12}},
    {"number": 7, "timestamp": "2026-11-18T10:30:00.000Z", "event_type": "tenant.configure",
     "outcome": "success", "principal": "operator", "auth_method": "none", "source_ip": "127.0.0.1",
     "correlation_id": "req_1",
     "detail": {"method": "PUT", "route": "/ojs/v1/admin/tenants/{id}/limits", "resource": "acme",
                "reason": "their API is down"}}
], "pagination": {"limit": 2, "has_more": false, "first_cursor": "8", "last_cursor": "7"}}"#;

#[test]
fn entries_are_listed() {
    let server = scripted(&[(200, PAGE)]);
    looks_like!("audit", rota_at(&server.url, &["audit", "list"]).printed());
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/audit?limit=100"]);
}

#[test]
fn filters_are_the_servers() {
    let server = scripted(&[(200, PAGE)]);
    let list = rota_at(
        &server.url,
        &[
            "audit",
            "list",
            "--tenant",
            "acme",
            "--subject",
            "a b",
            "--action",
            "queue",
            "--outcome",
            "failure",
            "--since",
            "2026-11-18T10:00:00Z",
            "-n",
            "5",
            "--json",
        ],
    );
    assert_eq!(list.json()["entries"][1]["detail"]["resource"], "acme");
    assert_eq!(
        server.asked(),
        [
            "GET /ojs/v1/admin/audit?since=2026-11-18T10%3A00%3A00Z&subject=a%20b&tenant=acme&action=queue\
          &outcome=failure&limit=5"
        ]
    );
    rota_at(&server.url, &["audit", "list", "--outcome", "maybe"]).failed(2);
}

#[test]
fn new_entries_are_followed() {
    let server = Server::start();
    let pause = |queue: &str| {
        server.post(&format!("/ojs/v1/queues/{queue}/pause"), json!({})).expect(200);
    };
    pause("before");
    let mut child = command(&["audit", "list", "--follow", "--json"])
        .env("ROTA_URL", server.url(""))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || {
        let entry: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        entry["detail"]["resource"].as_str().map(str::to_owned)
    };
    assert_eq!(next().as_deref(), Some("before"));
    for queue in ["during", "after"] {
        pause(queue);
        assert_eq!(next().as_deref(), Some(queue));
    }
    let status =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_empty_log_is_said_to_be_empty() {
    let server = Server::start();
    let ran = rota(&server, &["audit", "list"]);
    assert_eq!((ran.code, &*ran.stderr), (0, "no entries match\n"));
    let verified = rota(&server, &["audit", "verify"]).printed();
    assert_eq!(verified, "The audit log is intact: 0 entries.\n");
}
