//! A run that is due while an earlier one has not finished.

use serde_json::{Value, json};

use crate::shorthand::{ack, eventually, ids, take, text};
use crate::states::events;
use crate::support::Server;

fn each_second(server: &Server, overlap: &str) {
    let body = json!({"name": "tick", "expression": "@every 1s", "overlap_policy": overlap,
        "job_template": {"type": "tick.tock", "options": {"queue": "q"}}});
    assert!([200, 201].contains(&server.post("/ojs/v1/cron", body).status));
}

fn wait_for_runs(server: &Server, count: u64) {
    eventually(&format!("{count} runs"), || {
        let cron = server.get("/ojs/v1/cron/tick").expect(200);
        (cron["cron"]["run_count"].as_u64() >= Some(count)).then_some(())
    });
}

/// All runs, oldest first.
fn runs(server: &Server) -> Vec<Value> {
    let body = server.get("/ojs/v1/admin/jobs?queue=q&order=asc&per_page=100").expect(200);
    body["items"].as_array().expect("jobs").clone()
}

#[test]
fn skip_leaves_out_runs_until_the_last_has_finished() {
    let server = Server::start();
    each_second(&server, "skip");
    let first = text(&take(&server, "q")["id"]);
    let skipped = eventually("a run is skipped", || events(&server, "cron.skipped").pop());
    let data = &skipped["data"];
    assert_eq!((&data["cron_name"], &data["job_type"]), (&json!("tick"), &json!("tick.tock")));
    assert_eq!(data["existing_job_id"], json!(first));
    assert!(data["reason"].is_string() && data["scheduled_time"].is_string(), "{skipped}");
    assert_eq!(ids(&runs(&server)), std::slice::from_ref(&first));
    ack(&server, &first);
    assert_ne!(text(&take(&server, "q")["id"]), first);
}

#[test]
fn skip_is_the_default() {
    let server = Server::start();
    let body = json!({"name": "tick", "expression": "@hourly", "type": "a.b"});
    let cron = server.post("/ojs/v1/cron", body).expect(201)["cron"].clone();
    assert_eq!(cron["overlap_policy"], "skip");
}

#[test]
fn allow_runs_beside_what_has_not_finished() {
    let server = Server::start();
    each_second(&server, "allow");
    let first = text(&take(&server, "q")["id"]);
    let second = text(&take(&server, "q")["id"]);
    assert_eq!(server.job(&first)["state"], "active");
    assert_eq!(server.job(&second)["state"], "active");
    assert!(events(&server, "cron.skipped").is_empty());
}

#[test]
fn cancel_previous_cancels_what_has_not_finished() {
    let server = Server::start();
    each_second(&server, "cancel_previous");
    let first = text(&take(&server, "q")["id"]);
    server.wait_for_state(&first, "cancelled");
    // The second run was not fetched; the third cancels it all the same.
    wait_for_runs(&server, 3);
    let states: Vec<Value> = runs(&server).iter().map(|job| job["state"].clone()).collect();
    let (last, earlier) = states.split_last().expect("runs");
    assert_eq!(*last, "available", "{states:?}");
    assert!(earlier.iter().all(|state| *state == "cancelled"), "{states:?}");
    let beat = crate::shorthand::heartbeat(&server, "w1", json!({"active_jobs": [first]}));
    assert_eq!(beat.expect(200)["jobs_cancelled"], json!([first]));
}

#[test]
fn enqueue_keeps_runs_back_until_those_before_them_have_finished() {
    let server = Server::start();
    each_second(&server, "enqueue");
    let first = text(&take(&server, "q")["id"]);
    wait_for_runs(&server, 3);
    assert!(server.fetch("q", 5).is_empty());
    let all = ids(&runs(&server));
    ack(&server, &first);
    let next = server.fetch("q", 5);
    assert_eq!(ids(&next), all[1..2]);
    assert!(server.fetch("q", 5).is_empty());
    server.delete(&format!("/ojs/v1/jobs/{}", all[1])).expect(200);
    assert_eq!(ids(&server.fetch("q", 5)), all[2..3]);
}

#[test]
fn a_run_that_is_kept_back_stays_so_over_a_restart() {
    let mut server = Server::start();
    each_second(&server, "enqueue");
    let first = text(&take(&server, "q")["id"]);
    wait_for_runs(&server, 2);
    server.restart();
    assert!(server.fetch("q", 5).is_empty());
    let second = ids(&runs(&server)).remove(1);
    ack(&server, &first);
    assert_eq!(text(&take(&server, "q")["id"]), second);
}

#[test]
fn deleting_a_schedule_lets_its_kept_runs_go() {
    let server = Server::start();
    each_second(&server, "enqueue");
    take(&server, "q");
    wait_for_runs(&server, 3);
    server.delete("/ojs/v1/cron/tick").expect(200);
    assert_eq!(server.fetch("q", 1000).len(), runs(&server).len() - 1);
}

#[test]
fn changing_the_policy_does_not_strand_runs_that_were_kept_back() {
    let server = Server::start();
    each_second(&server, "enqueue");
    let first = text(&take(&server, "q")["id"]);
    wait_for_runs(&server, 2);
    let body = json!({"name": "tick", "expression": "@yearly", "overlap_policy": "skip",
        "job_template": {"type": "tick.tock", "options": {"queue": "q"}}});
    server.post("/ojs/v1/cron", body).expect(200);
    ack(&server, &first);
    let second = ids(&runs(&server)).remove(1);
    assert_eq!(ids(&server.fetch("q", 1)), [second]);
}

#[test]
fn a_run_that_is_retried_later_still_stands_in_the_way() {
    let server = Server::start();
    let body = json!({"name": "tick", "expression": "@every 1s", "overlap_policy": "skip",
        "job_template": {"type": "tick.tock", "options": {"queue": "q",
            "retry": {"initial_interval": "PT1H"}}}});
    server.post("/ojs/v1/cron", body).expect(201);
    let first = text(&take(&server, "q")["id"]);
    crate::shorthand::nack(&server, &first, crate::shorthand::boom());
    assert_eq!(server.job(&first)["state"], "retryable");
    eventually("a run is skipped", || events(&server, "cron.skipped").pop());
    assert_eq!(ids(&runs(&server)), [first]);
}

#[test]
fn a_run_that_was_kept_back_is_enqueued_when_it_is_let_go() {
    let server = Server::start();
    each_second(&server, "enqueue");
    let first = text(&take(&server, "q")["id"]);
    wait_for_runs(&server, 2);
    ack(&server, &first);
    let second = text(&take(&server, "q")["id"]);
    let enqueued: Vec<Value> = events(&server, "job.enqueued")
        .iter()
        .map(|event| event["data"]["job_id"].clone())
        .collect();
    assert!(enqueued.contains(&json!(second)), "{enqueued:?}");
}
