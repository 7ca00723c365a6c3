//! Maintenance mode: jobs are taken in, and nothing starts.

use std::time::Duration;

use serde_json::{Value, json};

use crate::shorthand::{ack, job_on, job_with, take, text};
use crate::support::Server;

fn set(server: &Server, body: Value) -> Value {
    server.post("/ojs/v1/admin/system/maintenance", body).expect(200)
}

#[test]
fn nothing_is_handed_out_and_everything_is_taken_in() {
    let server = Server::start();
    let running = server.enqueue(job_on("q"));
    take(&server, "q");
    set(&server, json!({"enabled": true}));
    let id = server.enqueue(job_on("q"));
    assert!(server.fetch("q", 5).is_empty());
    assert_eq!(server.job(&id)["state"], "available");
    ack(&server, &running);
    set(&server, json!({"enabled": false}));
    assert_eq!(server.fetch("q", 5)[0]["id"], id);
}

#[test]
fn scheduled_jobs_and_schedules_wait() {
    let server = Server::start();
    set(&server, json!({"enabled": true}));
    let id = server.enqueue(job_with("q", json!({"scheduled_at": "+PT0.1S"})));
    let cron = json!({"name": "tick", "expression": "@every 1s", "type": "a.b", "queue": "crons"});
    server.post("/ojs/v1/cron", cron).expect(201);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(server.job(&id)["state"], "scheduled");
    assert_eq!(server.get("/ojs/v1/cron/tick").expect(200)["cron"]["run_count"], 0);
    set(&server, json!({"enabled": false}));
    assert_eq!(take(&server, "q")["id"], id);
    take(&server, "crons");
}

#[test]
fn the_mode_is_shown_with_its_reason_and_survives_a_restart() {
    let mut server = Server::start();
    let shown = |server: &Server| server.get("/ojs/v1/admin/system/maintenance").expect(200);
    assert_eq!(shown(&server)["maintenance"], false);
    let body = json!({"enabled": true, "reason": "upgrade", "estimated_duration": "PT30M"});
    let on = set(&server, body);
    assert_eq!((&on["maintenance"], &on["reason"]), (&json!(true), &json!("upgrade")));
    let span = crate::shorthand::millis(&on["estimated_end"])
        - crate::shorthand::millis(&on["enabled_at"]);
    assert_eq!(span, 1_800_000);
    server.enqueue(job_on("q"));
    server.restart();
    assert_eq!(shown(&server), on);
    assert!(server.fetch("q", 5).is_empty());
    let off = set(&server, json!({"enabled": false}));
    assert_eq!(
        (&off["maintenance"], &off["reason"], &off["enabled_at"]),
        (&json!(false), &json!(null), &json!(null))
    );
    assert_eq!(server.fetch("q", 5).len(), 1);
    let bad = server.post("/ojs/v1/admin/system/maintenance", json!({}));
    bad.expect_error(400, "invalid_request");
}

#[test]
fn its_end_wakes_waiting_fetches() {
    let server = Server::start();
    set(&server, json!({"enabled": true}));
    let id = server.enqueue(job_on("q"));
    let job = std::thread::scope(|scope| {
        let fetch = scope.spawn(|| take(&server, "q"));
        crate::shorthand::eventually("a fetch waits", || {
            let stats = server.get("/ojs/v1/admin/stats").expect(200);
            (stats["waiting_fetches"] == 1).then_some(())
        });
        set(&server, json!({"enabled": false}));
        fetch.join().unwrap()
    });
    assert_eq!(text(&job["id"]), id);
}
