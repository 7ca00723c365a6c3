use serde_json::json;

use crate::jobs::{discarded, take};
use crate::looks_like;
use crate::run::rota;
use crate::support::{Server, in_one_minute};

fn with_queues() -> Server {
    let server = Server::start();
    discarded(&server, "email", 1);
    for _ in 0..12 {
        server.enqueue(json!({"type": "a.b", "args": [], "queue": "email"}));
    }
    take(&server, "email");
    server.enqueue(json!({"type": "a.b", "args": [], "queue": "reports", "scheduled_at": "+PT1H"}));
    server.post("/ojs/v1/queues/reports/pause", json!({})).expect(200);
    server
}

#[test]
fn queues_are_listed_with_their_jobs() {
    let server = with_queues();
    looks_like!("list", rota(&server, &["queues"]).printed());
    assert_eq!(rota(&server, &["queues"]).printed(), rota(&server, &["queues", "list"]).printed());
    let list = rota(&server, &["queues", "--json"]).json();
    assert_eq!((&list["total"], &list["next_cursor"]), (&json!(2), &json!(null)));
    assert_eq!(list["queues"][0]["name"], "email");
    assert_eq!(list["queues"][0]["available"], 11);
    assert_eq!(list["queues"][1]["status"], "paused");
}

#[test]
fn a_queue_is_deleted_alone_or_with_its_jobs() {
    let server = with_queues();
    let message = rota(&server, &["queues", "delete", "email"]).failed(2);
    assert!(message.contains("this would delete the queue email"), "{message}");
    let message = rota(&server, &["queues", "delete", "email", "--purge"]).failed(2);
    let would = "delete the queue email with 11 jobs that wait, and cancel 1 job that runs";
    assert!(message.contains(would), "{message}");
    let message = rota(&server, &["queues", "delete", "email", "--yes"]).failed(5);
    assert!(message.contains("--purge") && !message.contains("?purge"), "{message}");
    let text = rota(&server, &["queues", "delete", "email", "--purge", "--yes"]).printed();
    assert_eq!(text, "email deleted, with 12 jobs\n");
    let deleted =
        rota(&server, &["queues", "delete", "reports", "--purge", "--yes", "--json"]).json();
    assert_eq!((&deleted["name"], &deleted["purged_jobs"]), (&json!("reports"), &json!(1)));
    rota(&server, &["queues", "delete", "reports", "--yes"]).failed(4);
    server.post("/ojs/v1/queues/reports/pause", json!({})).expect(200);
    let text = rota(&server, &["queues", "delete", "reports", "--yes"]).printed();
    assert_eq!(text, "reports deleted\n");
}

#[test]
fn more_queues_than_a_page_has_are_all_listed() {
    let server = Server::start();
    for n in 0..205 {
        server.post(&format!("/ojs/v1/queues/q{n:03}/pause"), json!({})).expect(200);
    }
    let text = rota(&server, &["queues"]).printed();
    assert_eq!(text.lines().count(), 206);
    assert!(text.lines().last().unwrap().starts_with("q204"), "{text}");
}

#[test]
fn the_last_hour_of_a_queue_is_shown() {
    let (text, stats) = in_one_minute(|| {
        let server = Server::start();
        let id = server.enqueue(json!({"type": "a.b", "args": [], "queue": "email"}));
        take(&server, "email");
        server.post("/ojs/v1/workers/ack", json!({"job_id": id})).expect(200);
        let stats =
            |flags: &[&str]| rota(&server, &[&["queues", "stats", "email"], flags].concat());
        (stats(&[]).printed(), stats(&["--json"]).json())
    });
    let (text, averages) = text.split_once("  average wait").expect("averages at the end");
    looks_like!("stats", text);
    assert!(averages.contains("average run"), "{averages}");
    assert_eq!(
        (&stats["name"], &stats["stats"]["completed_last_hour"]),
        (&json!("email"), &json!(1))
    );
}

#[test]
fn queues_are_paused_and_resumed() {
    let server = with_queues();
    let status =
        |name: &str| server.get(&format!("/ojs/v1/queues/{name}")).expect(200)["status"].clone();
    assert_eq!(
        rota(&server, &["queues", "pause", "email", "reports"]).printed(),
        "email paused\nreports paused\n"
    );
    assert_eq!((status("email"), status("reports")), (json!("paused"), json!("paused")));
    assert_eq!(rota(&server, &["queues", "resume", "email"]).printed(), "email resumed\n");
    assert_eq!((status("email"), status("reports")), (json!("active"), json!("paused")));
    let changed = rota(&server, &["queues", "resume", "reports", "--json"]).json();
    assert_eq!(
        (&changed["queues"][0]["name"], &changed["queues"][0]["paused"]),
        (&json!("reports"), &json!(false))
    );
}

#[test]
fn failures_have_different_exit_codes() {
    let server = Server::start();
    let message = rota(&server, &["queues", "stats", "nope"]).failed(4);
    assert!(message.starts_with("rota: There is no queue 'nope'."), "{message}");
    rota(&server, &["queues", "pause", "No Queue"]).failed(5);
    rota(&server, &["queues", "pause"]).failed(2);
}

#[test]
fn no_queues_is_explained() {
    let server = Server::start();
    let ran = rota(&server, &["queues"]);
    assert_eq!((ran.code, &*ran.stdout), (0, ""));
    assert!(ran.stderr.starts_with("no queues yet"), "{}", ran.stderr);
}

#[test]
fn a_queue_is_purged_by_state() {
    let server = with_queues();
    let message = rota(&server, &["queues", "purge", "email"]).failed(2);
    let would = "this would delete all jobs of the queue email that are available, scheduled";
    assert!(message.contains(would), "{message}");
    let purge = |options: &[&str]| rota(&server, &[&["queues", "purge"], options].concat());
    assert_eq!(purge(&["email", "--yes", "--older-than", "1h"]).printed(), "deleted 0 jobs\n");
    assert_eq!(purge(&["email", "--yes"]).printed(), "deleted 11 jobs\n");
    let deleted = purge(&["email", "--state", "discarded", "--yes", "--json"]).json();
    assert_eq!(deleted, json!({"deleted": 1, "failed": 0}));
    let stats = rota(&server, &["queues", "stats", "email", "--json"]).json();
    assert_eq!((&stats["stats"]["active"], &stats["stats"]["available"]), (&json!(1), &json!(0)));
    assert!(purge(&["email", "--state", "active", "--yes"]).failed(2).contains("possible values"));
    purge(&["nothing", "--yes"]).failed(4);
}

#[test]
fn a_queue_is_created_before_its_first_job() {
    let server = Server::start();
    assert_eq!(rota(&server, &["queues", "create", "email"]).printed(), "email created\n");
    assert_eq!(rota(&server, &["queues", "--json"]).json()["queues"][0]["name"], "email");
    rota(&server, &["queues", "create", "email"]).failed(5);
}
