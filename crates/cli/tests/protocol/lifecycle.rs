//! A job's way from enqueue to completion.

use serde_json::json;

use crate::support::Server;

#[test]
fn a_job_is_enqueued_fetched_and_acknowledged() {
    let server = Server::start();
    let id = server.enqueue(json!({"type": "email.send", "args": ["a@example.com"]}));
    let jobs = server.fetch("default", 5);
    assert_eq!(jobs.len(), 1);
    assert_eq!((&jobs[0]["id"], &jobs[0]["attempt"]), (&json!(id), &json!(1)));
    let acked = server.post("/ojs/v1/workers/ack", json!({"job_id": id, "result": {"sent": 1}}));
    assert_eq!(acked.expect(200)["state"], "completed");
    let job = server.job(&id);
    assert_eq!((&job["state"], &job["result"]), (&json!("completed"), &json!({"sent": 1})));
}
