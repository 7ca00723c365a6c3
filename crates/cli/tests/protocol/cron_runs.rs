//! Schedules that are due.

use std::time::Duration;

use serde_json::{Value, json};

use crate::shorthand::{ack, eventually, merged, millis, now_ms, take, text};
use crate::states::events;
use crate::support::Server;

/// A schedule that fires each second into the queue `q`.
fn each_second(server: &Server, more: Value) -> Value {
    let body = json!({"name": "tick", "expression": "@every 1s",
        "job_template": {"type": "tick.tock", "args": ["x"], "options": {"queue": "q"}}});
    server.post("/ojs/v1/cron", merged(body, more)).expect(201)["cron"].clone()
}

/// Waits until another schedule, also of each second, has run twice.
fn wait_for_runs_of_another(server: &Server) {
    let body = json!({"name": "other", "expression": "@every 1s", "overlap_policy": "allow",
        "type": "tick.tock", "queue": "other"});
    server.post("/ojs/v1/cron", body).expect(201);
    take(server, "other");
    take(server, "other");
}

fn cron(server: &Server) -> Value {
    server.get("/ojs/v1/cron/tick").expect(200)["cron"].clone()
}

fn run_count(server: &Server) -> u64 {
    cron(server)["run_count"].as_u64().expect("a count")
}

#[test]
fn a_schedule_makes_jobs_that_know_where_they_come_from() {
    let server = Server::start();
    let registered = each_second(&server, json!({"overlap_policy": "allow"}));
    let first = take(&server, "q");
    assert!(millis(&first["created_at"]) >= millis(&registered["next_run_at"]));
    assert_eq!((&first["type"], &first["args"]), (&json!("tick.tock"), &json!(["x"])));
    assert_eq!(first["metadata"]["cron_name"], "tick");
    assert_eq!(first["metadata"]["cron_triggered_at"], registered["next_run_at"]);
    let second = take(&server, "q");
    assert_ne!(first["id"], second["id"]);
    for job in [&first, &second] {
        ack(&server, &text(&job["id"]));
    }
    let after = cron(&server);
    assert!(after["run_count"].as_u64() >= Some(2), "{after}");
    assert!(millis(&after["last_run_at"]) > millis(&registered["next_run_at"]), "{after}");
    assert!(millis(&after["next_run_at"]) > millis(&after["last_run_at"]), "{after}");
}

#[test]
fn each_run_is_an_event() {
    let server = Server::start();
    each_second(&server, json!({"overlap_policy": "allow"}));
    let job = take(&server, "q");
    let event = events(&server, "cron.triggered").remove(0);
    assert_eq!(event["subject"], "tick");
    let data = &event["data"];
    assert_eq!((&data["cron_name"], &data["job_id"]), (&json!("tick"), &job["id"]));
    assert_eq!((&data["job_type"], &data["run_count"]), (&json!("tick.tock"), &json!(1)));
    assert_eq!(data["scheduled_at"], job["metadata"]["cron_triggered_at"]);
}

#[test]
fn cron_events_tell_the_expression() {
    let server = Server::start();
    each_second(&server, json!({}));
    take(&server, "q");
    let skipped = eventually("a run is skipped", || events(&server, "cron.skipped").pop());
    let triggered = events(&server, "cron.triggered").remove(0);
    for event in [triggered, skipped] {
        assert_eq!(event["data"]["cron_expr"], "@every 1s", "{event}");
    }
}

#[test]
fn a_disabled_schedule_does_not_run() {
    let server = Server::start();
    each_second(&server, json!({"enabled": false}));
    wait_for_runs_of_another(&server);
    assert_eq!(run_count(&server), 0);
    assert!(server.fetch("q", 5).is_empty());
}

#[test]
fn a_deleted_schedule_does_not_run_and_leaves_its_jobs() {
    let server = Server::start();
    each_second(&server, json!({"overlap_policy": "allow"}));
    let job = take(&server, "q");
    server.delete("/ojs/v1/cron/tick").expect(200);
    server.fetch("q", 100);
    wait_for_runs_of_another(&server);
    assert!(server.fetch("q", 5).is_empty());
    ack(&server, &text(&job["id"]));
}

#[test]
fn runs_missed_over_a_restart_are_made_up_for_once() {
    let mut server = Server::start();
    each_second(&server, json!({"overlap_policy": "allow"}));
    server.kill();
    let down = now_ms();
    std::thread::sleep(Duration::from_millis(2200));
    let up = now_ms();
    server.restart();
    // The first run may have been before the kill, and others may be after the restart.
    let runs = eventually("a run after the restart", || {
        let page = server.get("/ojs/v1/admin/jobs?queue=q&order=asc&per_page=100").expect(200);
        let mut runs = page["items"].as_array().expect("jobs").clone();
        runs.retain(|run| millis(&run["created_at"]) > down);
        (runs.len() > 1).then_some(runs)
    });
    let due = |run: &Value| millis(&run["metadata"]["cron_triggered_at"]);
    assert!(due(&runs[0]) < up, "it makes up for the first that was missed: {runs:?}");
    assert!(runs[1..].iter().all(|run| due(run) >= up), "and for no other: {runs:?}");
}

#[test]
fn a_schedule_and_its_count_survive_a_restart() {
    let mut server = Server::start();
    let body =
        json!({"expression": "0 0 1 1 *", "timezone": "Asia/Tokyo", "overlap_policy": "enqueue"});
    each_second(&server, body);
    let before = cron(&server);
    server.restart();
    assert_eq!(cron(&server), before);
}

#[test]
fn replacing_a_schedule_keeps_its_count() {
    let server = Server::start();
    each_second(&server, json!({"overlap_policy": "allow"}));
    take(&server, "q");
    let again = json!({"name": "tick", "expression": "@yearly", "type": "tick.tock"});
    let replaced = server.post("/ojs/v1/cron", again).expect(200)["cron"].clone();
    assert!(replaced["run_count"].as_u64() >= Some(1), "{replaced}");
    assert!(replaced["last_run_at"].is_string(), "{replaced}");
}

#[test]
fn the_admins_view_of_a_run_tells_its_schedule() {
    let server = Server::start();
    each_second(&server, json!({}));
    let job = take(&server, "q");
    let path = format!("/ojs/v1/admin/jobs/{}", text(&job["id"]));
    let shown = server.get(&path).expect(200);
    assert_eq!(shown["metadata"]["cron_name"], "tick", "{shown}");
    assert!(shown["metadata"]["created_at"].is_string(), "{shown}");
}
