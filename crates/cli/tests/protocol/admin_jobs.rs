//! Finding jobs.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::shorthand::{ack, boom, ids, job_on, job_with, nack, take, text};
use crate::states::{STATES, job_in};
use crate::support::Server;

fn list(server: &Server, query: &str) -> Value {
    server.get(&format!("/ojs/v1/admin/jobs?{query}")).expect(200)
}

fn listed(server: &Server, query: &str) -> Vec<String> {
    ids(list(server, query)["items"].as_array().expect("items"))
}

#[test]
fn jobs_are_found_by_state() {
    let server = Server::start();
    let all: Vec<(&str, String)> = STATES.iter().map(|s| (*s, job_in(&server, s))).collect();
    for (state, id) in &all {
        let page = list(&server, &format!("state={state}"));
        assert_eq!(page["items"][0]["id"], *id, "{state}");
        assert_eq!(page["items"].as_array().map(Vec::len), Some(1), "{state}");
        assert_eq!(page["pagination"]["total"], 1, "{state}");
    }
    let everything = list(&server, "");
    assert_eq!(everything["pagination"]["total"], STATES.len());
    let newest_first: Vec<String> = all.iter().rev().map(|(_, id)| id.clone()).collect();
    assert_eq!(ids(everything["items"].as_array().unwrap()), newest_first);
    let bad = server.get("/ojs/v1/admin/jobs?state=lost");
    bad.expect_error(400, "invalid_request");
}

#[test]
fn jobs_are_found_by_queue_and_type() {
    let server = Server::start();
    let send =
        |queue: &str, kind: &str| server.enqueue(json!({"type": kind, "args": [], "queue": queue}));
    let mail = send("a", "mail.send");
    let bulk = send("b", "mail.bulk");
    let text = send("a", "text.send");
    assert_eq!(listed(&server, "queue=a&order=asc"), [&*mail, &*text]);
    assert_eq!(listed(&server, "type=mail.send"), [&*mail]);
    assert_eq!(listed(&server, "type=mail.*&order=asc"), [&*mail, &*bulk]);
    assert_eq!(listed(&server, "type=mail.*&queue=b"), [&*bulk]);
    assert!(listed(&server, "type=mail").is_empty());
    assert!(listed(&server, "queue=none").is_empty());
    assert_eq!(list(&server, "queue=a")["pagination"]["total"], 2);
    for query in ["type=mail.send", "since=2020-01-01T00:00:00Z"] {
        let pagination = list(&server, query)["pagination"].clone();
        assert_eq!(pagination["total_known"], false, "{query}: {pagination}");
        assert!(pagination.get("total").is_none(), "{pagination}");
    }
}

#[test]
fn jobs_are_found_by_the_time_of_their_creation() {
    let server = Server::start();
    let enqueue = || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let id = server.enqueue(job_on("q"));
        let at = text(&server.job(&id)["created_at"]);
        (id, at)
    };
    let jobs: Vec<(String, String)> = (0..4).map(|_| enqueue()).collect();
    let names = |range: std::ops::Range<usize>| -> Vec<String> {
        jobs[range].iter().map(|(id, _)| id.clone()).collect()
    };
    assert_eq!(listed(&server, &format!("order=asc&since={}", jobs[2].1)), names(2..4));
    let until = listed(&server, &format!("order=asc&until={}", jobs[2].1));
    assert_eq!(until[..2], names(0..2));
    assert!(!until.contains(&jobs[3].0));
    let between = format!("order=asc&since={}&until={}", jobs[1].1, jobs[3].1);
    assert_eq!(listed(&server, &between)[..2], names(1..3));
    server.get("/ojs/v1/admin/jobs?since=today").expect_error(400, "invalid_request");
}

#[test]
fn pages_have_numbers() {
    let server = Server::start();
    let sent: Vec<String> = (0..7).map(|_| server.enqueue(job_on("q"))).collect();
    let page = list(&server, "order=asc&per_page=3&page=2");
    assert_eq!(ids(page["items"].as_array().unwrap()), sent[3..6]);
    let pagination = &page["pagination"];
    assert_eq!((&pagination["page"], &pagination["per_page"]), (&json!(2), &json!(3)));
    assert_eq!((&pagination["total"], &pagination["has_more"]), (&json!(7), &json!(true)));
    let last = list(&server, "order=asc&per_page=3&page=3");
    assert_eq!(ids(last["items"].as_array().unwrap()), sent[6..]);
    assert_eq!(last["pagination"]["has_more"], false);
    assert!(listed(&server, "per_page=3&page=4").is_empty());
    for bad in ["page=0", "per_page=0", "per_page=x", "order=up", "sort=colour", "cursor=zzz"] {
        server.get(&format!("/ojs/v1/admin/jobs?{bad}")).expect_error(400, "invalid_request");
    }
    server.get("/ojs/v1/admin/jobs?page=100000").expect_error(422, "invalid_request");
}

#[test]
fn a_cursor_walks_all_jobs_exactly_once_while_more_arrive() {
    let server = Server::start();
    let batch =
        server.post("/ojs/v1/jobs/batch", json!({"jobs": vec![job_on("q"); 230]})).expect(201);
    let old: HashSet<String> = ids(batch["jobs"].as_array().unwrap()).into_iter().collect();
    for order in ["asc", "desc"] {
        let mut seen = Vec::new();
        let mut query = format!("queue=q&order={order}&per_page=20");
        for _ in 0..100 {
            let page = list(&server, &query);
            seen.extend(ids(page["items"].as_array().unwrap()));
            server.enqueue(job_on("q"));
            let Some(cursor) = page["pagination"]["next_cursor"].as_str() else { break };
            query = format!("queue=q&order={order}&per_page=20&cursor={cursor}");
        }
        let distinct: HashSet<String> = seen.iter().cloned().collect();
        assert_eq!(distinct.len(), seen.len(), "{order}: a job was listed twice");
        assert!(distinct.is_superset(&old), "{order}: a job was left out");
    }
}

#[test]
fn jobs_are_sorted_by_priority_and_start() {
    let server = Server::start();
    let send = |priority: i64, at: &str| {
        server.enqueue(job_with("q", json!({"priority": priority, "scheduled_at": at})))
    };
    let a = send(1, "2099-01-03T00:00:00Z");
    let b = send(3, "2099-01-02T00:00:00Z");
    let c = send(2, "2099-01-01T00:00:00Z");
    assert_eq!(listed(&server, "sort=priority"), [&*b, &*c, &*a]);
    assert_eq!(listed(&server, "sort=scheduled_at&order=asc"), [&*c, &*b, &*a]);
    assert_eq!(listed(&server, "sort=priority&per_page=2&page=2"), [a]);
}

#[test]
fn a_cursor_of_a_sorted_list_leads_on_or_is_not_given() {
    let server = Server::start();
    let sent: HashSet<String> =
        (0..5).map(|n| server.enqueue(job_with("q", json!({"priority": n})))).collect();
    let (mut seen, mut query) = (Vec::new(), "sort=priority&per_page=2".to_owned());
    for _ in 0..10 {
        let page = list(&server, &query);
        seen.extend(ids(page["items"].as_array().unwrap()));
        let Some(cursor) = page["pagination"]["next_cursor"].as_str() else { break };
        query = format!("sort=priority&per_page=2&cursor={cursor}");
    }
    let distinct: HashSet<String> = seen.iter().cloned().collect();
    assert_eq!(seen.len(), distinct.len(), "a job was listed twice");
    assert!(distinct.is_subset(&sent));
}

#[test]
fn a_job_is_shown_unwrapped_with_all_its_times() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"x_own": 1})));
    let show = || server.get(&format!("/ojs/v1/admin/jobs/{id}")).expect(200);
    let job = show();
    assert_eq!(
        (&job["id"], &job["state"], &job["x_own"]),
        (&json!(id), &json!("available"), &json!(1))
    );
    assert_eq!(job["errors"], json!([]));
    assert_eq!(job["metadata"]["created_at"], job["created_at"]);
    assert_eq!(job["metadata"]["completed_at"], json!(null));
    take(&server, "q");
    ack(&server, &id);
    let job = show();
    assert_eq!(job["metadata"]["completed_at"], job["completed_at"]);
    assert!(job["metadata"]["started_at"].is_string());
}

#[test]
fn the_admins_view_keeps_a_clients_own_metadata() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"metadata": {"mine": 1}})));
    assert_eq!(server.job(&id)["metadata"]["mine"], 1);
    let shown = server.get(&format!("/ojs/v1/admin/jobs/{id}")).expect(200);
    assert_eq!(shown["metadata"]["mine"], 1, "{shown}");
}

#[test]
fn an_operator_retries_a_job_that_was_cancelled() {
    let server = Server::start();
    let id = server.enqueue(job_on("q"));
    server.post(&format!("/ojs/v1/admin/jobs/{id}/cancel"), json!({})).expect(200);
    assert!(server.fetch("q", 1).is_empty());
    let body = server.post(&format!("/ojs/v1/admin/jobs/{id}/retry"), json!({})).expect(200);
    assert_eq!(
        (&body["job"]["state"], &body["job"]["previous_state"]),
        (&json!("available"), &json!("cancelled"))
    );
    let job = take(&server, "q");
    assert_eq!((&job["id"], &job["attempt"]), (&json!(id), &json!(1)));
}

#[test]
fn a_retried_job_has_all_its_attempts_again() {
    let server = Server::start();
    let id = job_in(&server, "discarded");
    let queue = text(&server.job(&id)["queue"]);
    for errors in 2..4 {
        server.post(&format!("/ojs/v1/admin/jobs/{id}/retry"), json!({})).expect(200);
        assert_eq!(take(&server, &queue)["attempt"], 1);
        nack(&server, &id, boom());
        assert_eq!(server.job(&id)["errors"].as_array().map(Vec::len), Some(errors));
    }
}
