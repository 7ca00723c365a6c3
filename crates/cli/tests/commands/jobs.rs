//! `rota jobs show`, and jobs in every state.

use serde_json::{Value, json};

use crate::looks_like;
use crate::run::rota;
use crate::support::Server;

/// Takes the next job of the queue as this worker.
pub fn take(server: &Server, queue: &str) -> Value {
    let ask = json!({"queues": [queue], "worker_id": "w1", "wait_ms": 30_000});
    server.post("/ojs/v1/workers/fetch", ask).expect(200)["jobs"][0].clone()
}

/// Lets an attempt of this job fail.
pub fn fail(server: &Server, id: &str, message: &str) {
    let error = json!({"code": "smtp_timeout", "message": message});
    server.post("/ojs/v1/workers/nack", json!({"job_id": id, "error": error})).expect(200);
}

/// A job that has failed for good, after as many attempts.
pub fn discarded(server: &Server, queue: &str, attempts: u32) -> String {
    let retry = json!({"max_attempts": attempts, "initial_interval_ms": 1, "jitter": false});
    let job =
        json!({"type": "email.send", "args": ["a", {"b": 1}], "queue": queue, "retry": retry});
    let id = server.enqueue(job);
    for attempt in 1..=attempts {
        take(server, queue);
        fail(server, &id, &format!("try {attempt}: no answer\nfrom smtp.example.com"));
    }
    id
}

#[test]
fn a_failed_job_is_shown_with_its_history() {
    let server = Server::start();
    let id = discarded(&server, "email", 2);
    looks_like!("discarded", rota(&server, &["jobs", "show", &id]).printed());
}

#[test]
fn a_completed_job_is_shown_with_its_result() {
    let server = Server::start();
    let id = server.enqueue(json!({
        "type": "a.b", "args": [], "meta": {"customer": 42}, "tags": ["x", "y"], "timeout_ms": 90_000,
    }));
    take(&server, "default");
    let ack = json!({"job_id": id, "result": {"sent": true}});
    server.post("/ojs/v1/workers/ack", ack).expect(200);
    looks_like!("completed", rota(&server, &["jobs", "show", &id]).printed());
}

#[test]
fn a_waiting_job_is_shown_with_its_times() {
    let server = Server::start();
    let job = json!({"type": "a.b", "args": [], "scheduled_at": "+PT10H", "expires_at": "+PT20H"});
    let id = server.enqueue(job);
    looks_like!("scheduled", rota(&server, &["jobs", "show", &id]).printed());
}

#[test]
fn a_running_job_is_shown_with_its_worker() {
    let server = Server::start();
    let id = server.enqueue(json!({"type": "a.b", "args": []}));
    take(&server, "default");
    let text = rota(&server, &["jobs", "show", &id]).printed();
    assert!(text.contains("state     active\n") && text.contains("worker    w1\n"), "{text}");
}

#[test]
fn an_error_cannot_steer_the_terminal() {
    let server = Server::start();
    let id = server.enqueue(json!({"type": "a.b", "args": [], "retry": {"max_attempts": 1}}));
    take(&server, "default");
    fail(&server, &id, "\u{1b}[2Jgone");
    for arguments in [&["jobs", "show", &id][..], &["jobs"]] {
        let text = rota(&server, arguments).printed();
        assert!(text.contains("\u{fffd}[2Jgone"), "{text}");
    }
}

#[test]
fn json_is_the_job_as_the_server_shows_it() {
    let server = Server::start();
    let id = discarded(&server, "email", 1);
    assert_eq!(rota(&server, &["jobs", "show", &id, "--json"]).json(), server.job(&id));
}

#[test]
fn a_job_that_is_not_there_is_exit_code_4() {
    let server = Server::start();
    let id = "01936c7e-1111-7abc-8def-0123456789ab";
    looks_like!("missing", rota(&server, &["jobs", "show", id]).failed(4));
    let error = rota(&server, &["jobs", "show", id, "--json"]).json_error(4);
    assert_eq!((&error["code"], &error["status"]), (&json!("not_found"), &json!(404)));
    rota(&server, &["jobs", "show", "../queues"]).failed(4);
}
