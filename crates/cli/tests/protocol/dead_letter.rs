//! The dead letter: jobs that failed for good.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::shorthand::{boom, ids, job_with, nack, take, text};
use crate::states::{STATES, job_in};
use crate::support::Server;

fn dead_on(server: &Server, queue: &str) -> String {
    let more = json!({"retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}});
    let id = server.enqueue(job_with(queue, more));
    take(server, queue);
    nack(server, &id, boom());
    id
}

fn list(server: &Server, query: &str) -> Value {
    server.get(&format!("/ojs/v1/dead-letter{query}")).expect(200)
}

fn listed(server: &Server, query: &str) -> Vec<String> {
    ids(list(server, query)["jobs"].as_array().expect("jobs"))
}

#[test]
fn dead_jobs_are_listed_newest_first_and_by_queue() {
    let server = Server::start();
    let dead: Vec<String> = ["a", "b", "a"].iter().map(|queue| dead_on(&server, queue)).collect();
    job_in(&server, "completed");
    assert_eq!(listed(&server, ""), [&*dead[2], &*dead[1], &*dead[0]]);
    assert_eq!(listed(&server, "?queue=a"), [&*dead[2], &*dead[0]]);
    assert_eq!(list(&server, "?queue=a")["pagination"]["total"], 2);
    assert!(listed(&server, "?queue=none").is_empty());
    let stats = server.get("/ojs/v1/dead-letter/stats").expect(200);
    assert_eq!((&stats["total"], &stats["by_queue"]), (&json!(3), &json!({"a": 2, "b": 1})));
}

#[test]
fn the_list_is_walked_with_a_cursor() {
    let server = Server::start();
    let dead: HashSet<String> = (0..7).map(|_| dead_on(&server, "q")).collect();
    let mut seen = Vec::new();
    let mut query = "?limit=3".to_owned();
    loop {
        let page = list(&server, &query);
        let jobs = ids(page["jobs"].as_array().expect("jobs"));
        assert!(jobs.len() <= 3);
        seen.extend(jobs);
        assert_eq!(page["pagination"]["has_more"], page["pagination"]["next_cursor"].is_string());
        match page["pagination"]["next_cursor"].as_str() {
            Some(cursor) => query = format!("?limit=3&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 7);
    assert_eq!(seen.into_iter().collect::<HashSet<_>>(), dead);
}

#[test]
fn a_dead_job_is_shown_with_its_error() {
    let server = Server::start();
    let id = dead_on(&server, "q");
    let shown = server.get(&format!("/ojs/v1/dead-letter/{id}")).expect(200);
    assert_eq!((&shown["id"], &shown["state"]), (&json!(id), &json!("discarded")));
    let job = &shown["job"];
    assert_eq!((&job["id"], &job["state"]), (&json!(id), &json!("discarded")));
    assert_eq!(job["error"]["type"], "test.boom");
}

#[test]
fn a_dead_job_gets_a_new_life() {
    let server = Server::start();
    let id = dead_on(&server, "q");
    let body = server.post(&format!("/ojs/v1/dead-letter/{id}/retry"), json!({})).expect(200);
    let job = &body["job"];
    assert_eq!((&job["state"], &job["attempt"]), (&json!("available"), &json!(0)));
    assert_eq!(job["previous_state"], "discarded");
    assert!(job.get("error").is_none(), "{job}");
    assert_eq!(job["errors"].as_array().map(Vec::len), Some(1), "its errors are kept: {job}");
    assert!(listed(&server, "").is_empty());
    let again = take(&server, "q");
    assert_eq!((text(&again["id"]), &again["attempt"]), (id.clone(), &json!(1)));
    nack(&server, &id, boom());
    assert_eq!(listed(&server, ""), [id]);
}

#[test]
fn a_dead_job_is_deleted() {
    let server = Server::start();
    let id = dead_on(&server, "q");
    let path = format!("/ojs/v1/dead-letter/{id}");
    assert_eq!(server.delete(&path).expect(200)["deleted"], true);
    server.get(&path).expect_error(404, "not_found");
    server.delete(&path).expect_error(404, "not_found");
    server.get(&format!("/ojs/v1/jobs/{id}")).expect_error(404, "not_found");
}

#[test]
fn jobs_that_are_not_dead_are_none_of_its_business() {
    let server = Server::start();
    for state in STATES.iter().filter(|state| **state != "discarded") {
        let id = job_in(&server, state);
        let path = format!("/ojs/v1/dead-letter/{id}");
        server.get(&path).expect_error(404, "not_found");
        server.delete(&path).expect_error(404, "not_found");
        server.post(&format!("{path}/retry"), json!({})).expect_error(404, "not_found");
        assert_eq!(server.job(&id)["state"], *state);
    }
    let more = json!({"retry": {"max_attempts": 1, "on_exhaustion": "discard"}});
    let id = server.enqueue(job_with("gone", more));
    take(&server, "gone");
    nack(&server, &id, boom());
    server.get(&format!("/ojs/v1/dead-letter/{id}")).expect_error(404, "not_found");
    assert!(listed(&server, "").is_empty());
}

#[test]
fn a_state_filter_does_not_widen_the_dead_letter() {
    let server = Server::start();
    job_in(&server, "completed");
    for path in ["/ojs/v1/dead-letter", "/ojs/v1/admin/dead-letter"] {
        let reply = server.get(&format!("{path}?state=completed"));
        reply.expect_error(400, "invalid_request");
    }
}

#[test]
fn an_operator_purges_the_dead_letter_when_sure() {
    let server = Server::start();
    let kept = job_in(&server, "completed");
    dead_on(&server, "a");
    dead_on(&server, "b");
    let purge = |body: Value| {
        let text = body.to_string();
        let headers = [crate::support::JSON];
        server.send("DELETE", "/ojs/v1/admin/dead-letter", &headers, Some(text.as_bytes()))
    };
    for body in [json!({}), json!({"confirm": false})] {
        purge(body).expect_error(400, "invalid_request");
    }
    let old = json!({"confirm": true, "older_than": "2001-01-01T00:00:00Z"});
    assert_eq!(purge(old).expect(200)["purged_count"], 0);
    assert_eq!(purge(json!({"confirm": true, "queue": "a"})).expect(200)["purged_count"], 1);
    assert_eq!(purge(json!({"confirm": true})).expect(200)["purged_count"], 1);
    assert_eq!(server.get("/ojs/v1/admin/dead-letter").expect(200)["items"], json!([]));
    assert_eq!(server.job(&kept)["state"], "completed");
}

/// A job that died of an error of this type.
fn dead_of(server: &Server, queue: &str, kind: &str) -> String {
    let more = json!({"retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}});
    let id = server.enqueue(job_with(queue, more));
    take(server, queue);
    nack(server, &id, json!({"type": kind, "message": "no"}));
    id
}

fn delete_with(server: &Server, path: &str, body: &Value) -> crate::support::Reply {
    let headers = [crate::support::JSON];
    server.send("DELETE", path, &headers, Some(body.to_string().as_bytes()))
}

#[test]
fn many_dead_jobs_are_retried_or_deleted_by_a_filter() {
    let server = Server::start();
    let ids: Vec<String> = [("a", "Timeout"), ("a", "Refused"), ("b", "Timeout"), ("b", "Refused")]
        .iter()
        .map(|(queue, kind)| dead_of(&server, queue, kind))
        .collect();
    let retry =
        |prefix: &str, body: Value| server.post(&format!("{prefix}/dead-letter/retry"), body);
    retry("/ojs/v1", json!({"filter": {}})).expect_error(400, "invalid_request");
    for bad in [json!({"error": "Timeout"}), json!({"since": "yesterday"}), json!({"queue": "?"})] {
        retry("/ojs/v1", json!({"filter": bad, "confirm": true}));
        assert_eq!(listed(&server, "").len(), 4, "a filter that does not fit selects nothing");
    }
    let none = json!({"filter": {"until": "2001-01-01T00:00:00Z"}, "confirm": true});
    assert_eq!(retry("/ojs/v1", none).expect(200)["matched"], 0);
    let one = json!({"filter": {"queue": "a", "error_type": "Timeout"}, "confirm": true});
    let answer = retry("/ojs/v1", one).expect(200);
    let expected = json!({"action": "retry", "matched": 1, "succeeded": 1, "retried": 1,
        "failed": 0, "errors": []});
    assert_eq!(answer, expected);
    assert_eq!(server.job(&ids[0])["state"], "available");
    assert_eq!(listed(&server, ""), [&*ids[3], &*ids[2], &*ids[1]]);
    let by_type = json!({"filter": {"error_type": "Refused"}, "confirm": true});
    assert_eq!(retry("/ojs/v1/admin", by_type).expect(200)["retried"], 2);

    delete_with(&server, "/ojs/v1/dead-letter", &json!({})).expect_error(400, "invalid_request");
    let both = json!({"filter": {"queue": "b"}, "queue": "b", "confirm": true});
    delete_with(&server, "/ojs/v1/dead-letter", &both).expect_error(400, "invalid_request");
    let other = json!({"filter": {"error_type": "Refused"}, "confirm": true});
    assert_eq!(delete_with(&server, "/ojs/v1/dead-letter", &other).expect(200)["deleted"], 0);
    let right = json!({"filter": {"error_type": "Timeout"}, "confirm": true});
    assert_eq!(delete_with(&server, "/ojs/v1/dead-letter", &right).expect(200)["purged_count"], 1);
    assert!(listed(&server, "").is_empty());

    dead_of(&server, "c", "Timeout");
    let by_age =
        |age: &str| server.post(&format!("/ojs/v1/dead-letter/purge?older_than={age}"), json!({}));
    assert_eq!(by_age("7d").expect(200)["deleted"], 0);
    assert_eq!(by_age("0s").expect(200)["deleted"], 1);
    by_age("soon").expect_error(400, "invalid_request");
}

#[test]
fn a_purge_by_path_rejects_a_body_that_it_would_not_honour() {
    let server = Server::start();
    dead_of(&server, "q", "Timeout");
    for body in [json!({"older_than": "7d"}), json!({"filter": {"queue": "other"}})] {
        let path = "/ojs/v1/dead-letter/purge";
        server.post(path, body).expect_error(400, "invalid_request");
    }
    assert_eq!(listed(&server, "").len(), 1);
    assert_eq!(
        server.send("POST", "/ojs/v1/dead-letter/purge", &[], None).expect(200)["deleted"],
        1
    );
}

#[test]
fn an_unconfirmed_change_names_the_request_that_lists_the_same_jobs() {
    let server = Server::start();
    let body = json!({"filter": {"error_type": "Timeout"}});
    let error = server.post("/ojs/v1/dead-letter/retry", body).expect(400);
    let hint = error["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("GET /ojs/v1/dead-letter with"), "{hint}");
    let empty = server.send("DELETE", "/ojs/v1/dead-letter", &[], None).expect(400);
    assert_eq!(empty["error"]["message"], "the body is empty");
}

#[test]
fn the_admin_routes_of_the_dead_letter_answer_as_specified() {
    let server = Server::start();
    let id = dead_on(&server, "q");
    assert_eq!(server.get("/ojs/v1/admin/dead-letter/stats").expect(200)["total"], 1);
    let path = format!("/ojs/v1/admin/dead-letter/{id}");
    let reply = server.send("DELETE", &path, &[], None);
    assert_eq!((reply.status, reply.text.as_str()), (204, ""));
    assert_eq!(server.get("/ojs/v1/admin/dead-letter/stats").expect(200)["total"], 0);
}
