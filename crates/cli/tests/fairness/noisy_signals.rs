//! Each of the four signals by itself.

use serde_json::{Value, json};

use crate::api::{caller, enqueue_many, of, of_with, start};
use crate::shorthand::{boom, text};
use crate::support::Server;
use crate::watch::await_event;

/// A server on which only one signal can be seen.
fn listening_to(signal: &str, threshold: &str) -> Server {
    let deaf = [
        ("ROTA_NOISY_DEPTH_RATIO", "1000"),
        ("ROTA_NOISY_RATE_RATIO", "1000"),
        ("ROTA_NOISY_ACTIVE_SHARE", "1"),
        ("ROTA_NOISY_ERROR_RATIO", "1000"),
    ];
    let mut environment: Vec<(&str, &str)> =
        deaf.into_iter().filter(|(name, _)| *name != signal).collect();
    environment.extend([(signal, threshold), ("ROTA_NOISY_THROTTLE", "true")]);
    start(&environment)
}

fn quiet_ones(server: &Server, jobs: usize) {
    for n in 0..9 {
        enqueue_many(server, &of(&format!("quiet-{n}"), "q"), jobs);
    }
}

#[track_caller]
fn reason(server: &Server) -> String {
    text(&await_event(server, "tenant.throttled", "tenant_id", "noisy")["reason"])
}

#[test]
fn the_depth_is_a_signal() {
    let server = listening_to("ROTA_NOISY_DEPTH_RATIO", "10");
    quiet_ones(&server, 10);
    enqueue_many(&server, &of("noisy", "q"), 500);
    assert_eq!(reason(&server), "queue_depth_ratio_exceeded");
}

#[test]
fn the_rate_of_enqueueing_is_a_signal() {
    let server = listening_to("ROTA_NOISY_RATE_RATIO", "5");
    quiet_ones(&server, 10);
    enqueue_many(&server, &of("noisy", "q"), 900);
    let reason = reason(&server);
    assert!(reason.contains("rate") && reason.contains("enqueue"), "{reason}");
}

#[test]
fn the_share_of_active_jobs_is_a_signal() {
    let server = listening_to("ROTA_NOISY_ACTIVE_SHARE", "0.5");
    quiet_ones(&server, 10);
    server.fetch("q", 100);
    enqueue_many(&server, &of("noisy", "busy"), 500);
    assert_eq!(server.fetch("busy", 500).len(), 500);
    // Others wait, so that it takes something from them.
    quiet_ones(&server, 10);
    assert!(reason(&server).contains("active"));
}

#[test]
fn the_rate_of_errors_is_a_signal() {
    let server = listening_to("ROTA_NOISY_ERROR_RATIO", "3");
    quiet_ones(&server, 10);
    let finish = |tenant: &str, outcome: &dyn Fn(&str) -> (&'static str, Value)| {
        for job in caller(&server, tenant).fetch("q", 100) {
            let (path, body) = outcome(&text(&job["id"]));
            server.post(path, body).expect(200);
        }
    };
    for n in 0..9 {
        let tenant = format!("quiet-{n}");
        finish(&tenant, &|id| ("/ojs/v1/workers/ack", json!({"job_id": id})));
    }
    enqueue_many(&server, &of_with("noisy", "q", json!({"retry": {"max_attempts": 1}})), 60);
    finish("noisy", &|id| ("/ojs/v1/workers/nack", json!({"job_id": id, "error": boom()})));
    quiet_ones(&server, 5);
    assert!(reason(&server).contains("error"));
}
