//! Jobs in each state, and what was told of them.

use serde_json::{Value, json};

use crate::shorthand::{ack, boom, fresh_queue, job_with, nack};
use crate::support::Server;

pub const STATES: [&str; 8] = [
    "scheduled",
    "available",
    "pending",
    "active",
    "completed",
    "retryable",
    "cancelled",
    "discarded",
];

/// A job in this state, on a queue of its own.
#[track_caller]
pub fn job_in(server: &Server, state: &str) -> String {
    let queue = fresh_queue();
    let start = |more: Value| {
        let id = server.enqueue(job_with(&queue, more));
        if ["active", "completed", "retryable", "discarded"].contains(&state) {
            assert_eq!(server.fetch(&queue, 1).len(), 1);
        }
        id
    };
    let id = match state {
        "scheduled" => start(json!({"scheduled_at": "2099-01-01T00:00:00Z"})),
        "pending" => start(json!({"pending": true})),
        "retryable" => start(json!({"retry": {"initial_interval": "PT1H"}})),
        "discarded" => start(json!({"retry": {"max_attempts": 1}})),
        _ => start(json!({})),
    };
    match state {
        "completed" => drop(ack(server, &id)),
        "retryable" | "discarded" => drop(nack(server, &id, boom())),
        "cancelled" => drop(server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200)),
        _ => {}
    }
    assert_eq!(server.job(&id)["state"], state);
    id
}

/// All events so far, of these types.
#[track_caller]
pub fn events(server: &Server, types: &str) -> Vec<Value> {
    let body = server.get(&format!("/ojs/v1/events?limit=1000&types={types}")).expect(200);
    body["events"].as_array().expect("a list of events").clone()
}
