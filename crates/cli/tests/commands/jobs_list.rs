use serde_json::{Value, json};

use crate::jobs::{discarded, fail, take};
use crate::looks_like;
use crate::run::rota;
use crate::support::Server;

fn with_jobs(count: u32) -> Server {
    let server = Server::start();
    for n in 0..count {
        server.enqueue(json!({"type": "a.b", "args": [n]}));
    }
    server
}

fn args(list: &Value) -> Vec<i64> {
    let jobs = list["jobs"].as_array().unwrap();
    jobs.iter().map(|job| job["args"][0].as_i64().unwrap()).collect()
}

/// One job in each state.
fn in_all_states() -> Server {
    let server = Server::start();
    discarded(&server, "email", 1);
    let done = server.enqueue(json!({"type": "email.send", "args": []}));
    take(&server, "default");
    server.post("/ojs/v1/workers/ack", json!({"job_id": done})).expect(200);
    let cancelled = server.enqueue(json!({"type": "email.send", "args": []}));
    server.delete(&format!("/ojs/v1/jobs/{cancelled}")).expect(200);
    let slow = json!({"initial_interval": "PT1H", "max_interval": "PT9H"});
    let again = server.enqueue(json!({"type": "crm.sync", "args": [], "retry": slow}));
    take(&server, "default");
    fail(&server, &again, "no route to host");
    server.enqueue(json!({"type": "crm.sync", "args": []}));
    take(&server, "default");
    server.enqueue(json!({"type": "crm.sync", "args": [], "scheduled_at": "+PT5H"}));
    server.enqueue(json!({"type": "crm.sync", "args": [], "pending": true}));
    server.enqueue(json!({"type": "report.build", "args": [], "queue": "reports"}));
    server
}

#[test]
fn every_state_says_what_matters() {
    let server = in_all_states();
    looks_like!("all_states", rota(&server, &["jobs"]).printed());
}

#[test]
fn filters_narrow_the_list() {
    let server = in_all_states();
    let count = |arguments: &[&str]| {
        let list = rota(&server, &[&["jobs", "list", "--json"], arguments].concat()).json();
        list["jobs"].as_array().unwrap().len()
    };
    assert_eq!(count(&[]), 8);
    for state in ["pending", "scheduled", "available", "active", "retryable", "completed"] {
        assert_eq!(count(&["--state", state]), 1, "{state}");
    }
    assert_eq!(count(&["--queue", "reports"]), 1);
    assert_eq!(count(&["--type", "crm.*"]), 4);
    assert_eq!(count(&["--type", "crm.*", "--state", "active"]), 1);
    assert_eq!(count(&["--since", "1h"]), 8);
    assert_eq!(count(&["--until", "1h"]), 0);
    assert_eq!(count(&["--since", "2090-01-01T00:00:00Z"]), 0);
}

#[test]
fn without_a_subcommand_it_lists_with_the_same_filters() {
    let server = in_all_states();
    let list = rota(&server, &["jobs", "--state", "active", "--json"]).json();
    assert_eq!(list["total"], 1);
    let message = rota(&server, &["jobs", "--state", "active", "list"]).failed(2);
    assert!(message.contains("filters stand behind the subcommand"), "{message}");
}

#[test]
fn a_limit_cuts_and_says_so() {
    let server = with_jobs(25);
    let ran = rota(&server, &["jobs"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 21));
    assert!(ran.stderr.contains("there are more"), "{}", ran.stderr);
    let list = rota(&server, &["jobs", "--limit", "3", "--json"]).json();
    assert_eq!((args(&list), &list["total"]), (vec![24, 23, 22], &json!(25)));
    let cursor = list["next_cursor"].as_str().expect("a cursor").to_owned();
    let list = rota(&server, &["jobs", "--limit", "2", "--cursor", &cursor, "--json"]).json();
    assert_eq!(args(&list), [21, 20]);
    let list = rota(&server, &["jobs", "--limit", "2", "--oldest-first", "--json"]).json();
    assert_eq!(args(&list), [0, 1]);
}

#[test]
fn all_follows_the_cursors() {
    let server = with_jobs(230);
    let all: Vec<i64> = (0..230).rev().collect();
    let list = rota(&server, &["jobs", "--all", "--json"]).json();
    assert_eq!((args(&list), &list["next_cursor"]), (all.clone(), &Value::Null));
    let list = rota(&server, &["jobs", "--limit", "150", "--json"]).json();
    assert_eq!(args(&list), all[..150]);
    let text = rota(&server, &["jobs", "list", "--all"]).printed();
    assert_eq!(text.lines().count(), 231);
    assert_eq!(text.matches("STATE").count(), 1, "one header for all pages");
}

#[test]
fn an_empty_list_is_explained() {
    let server = Server::start();
    let ran = rota(&server, &["jobs"]);
    assert_eq!((ran.code, &*ran.stdout), (0, ""));
    assert!(ran.stderr.starts_with("no jobs match"), "{}", ran.stderr);
    let list = rota(&server, &["jobs", "--json"]).json();
    assert_eq!(list, json!({"jobs": [], "total": 0, "next_cursor": null}));
}

#[test]
fn bad_filters_are_mistakes() {
    let server = Server::start();
    let message = |arguments: &[&str]| rota(&server, &[&["jobs", "list"], arguments].concat());
    assert!(message(&["--state", "done"]).failed(2).contains("possible values: pending"));
    assert!(message(&["--since", "yesterday"]).failed(2).contains("how long ago"));
    assert!(message(&["--limit", "0"]).failed(2).contains("at least 1"));
    message(&["--queue", "No Queue"]).failed(5);
    message(&["--cursor", "mine"]).failed(5);
}
