//! Operations in states that do not allow them: refused with 409, and nothing changes.

use serde_json::{Value, json};

use crate::shorthand::{boom, try_ack, try_nack};
use crate::states::{STATES, job_in};
use crate::support::{Reply, Server};

/// Tries this in every state but the legal ones.
fn refused_except_in(legal: &[&str], attempt: impl Fn(&Server, &str) -> Reply) {
    let server = Server::start();
    for state in STATES.iter().filter(|state| !legal.contains(state)) {
        let id = job_in(&server, state);
        let before = server.job(&id);
        let counts = jobs_by_state(&server);
        let error = attempt(&server, &id).expect_error(409, "conflict");
        assert_eq!(error["details"]["current_state"], *state, "{error}");
        assert_eq!(server.job(&id), before, "{state}");
        assert_eq!(jobs_by_state(&server), counts, "{state}");
    }
}

fn jobs_by_state(server: &Server) -> Value {
    server.get("/ojs/v1/admin/stats").expect(200)["jobs"].clone()
}

#[test]
fn only_active_jobs_can_be_acknowledged() {
    refused_except_in(&["active"], try_ack);
}

#[test]
fn only_active_jobs_can_fail() {
    refused_except_in(&["active"], |server, id| try_nack(server, id, boom()));
}

#[test]
fn jobs_that_have_ended_cannot_be_cancelled() {
    let legal = ["scheduled", "available", "pending", "active", "retryable"];
    refused_except_in(&legal, |server, id| server.delete(&format!("/ojs/v1/jobs/{id}")));
    refused_except_in(&legal, |server, id| {
        server.post(&format!("/ojs/v1/admin/jobs/{id}/cancel"), json!({}))
    });
}

#[test]
fn only_pending_jobs_can_be_activated() {
    refused_except_in(&["pending"], |server, id| {
        server.post(&format!("/ojs/v1/jobs/{id}/activate"), json!({}))
    });
}

#[test]
fn only_cancelled_and_discarded_jobs_can_be_retried() {
    refused_except_in(&["cancelled", "discarded"], |server, id| {
        server.post(&format!("/ojs/v1/admin/jobs/{id}/retry"), json!({}))
    });
}
