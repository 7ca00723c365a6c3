//! What is asked of the server while a call fails.

use serde_json::{Value, json};

use super::account::{Account, Answered};
use super::faulty::Faulty;
use crate::wire::Wire;

/// A connection that is opened anew when it breaks.
struct Client<'a> {
    run: &'a Faulty,
    wire: Option<Wire>,
}

impl Client<'_> {
    /// The status and the body; `None` if nobody knows what happened.
    fn send(&mut self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        if self.wire.is_none() {
            self.wire = Wire::open(self.run.address).ok();
        }
        let text = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let wire = self.wire.as_mut()?;
        let sent = wire.send(&crate::wire::request(method, path, &[], &text));
        match sent.and_then(|()| wire.answer()) {
            Ok(answer) => Some((answer.status, answer.json())),
            Err(_) => {
                self.wire = None;
                None
            }
        }
    }

    fn post(&mut self, path: &str, body: &Value) -> Option<(u16, Value)> {
        self.send("POST", path, body)
    }

    fn enqueue(&mut self, account: &mut Account, queue: &str) {
        let (id, args) = account.new_job();
        let job = json!({"id": id, "type": "a", "queue": queue, "args": args});
        let answer = self.post("/ojs/v1/jobs", &job);
        account.enqueued(&id, Answered::of(answer.as_ref()));
    }

    fn fetch(&mut self, queue: &str, count: usize) -> Vec<String> {
        let fetch = json!({"queues": [queue], "count": count, "visibility_timeout_ms": 600_000});
        let answer = self.post("/ojs/v1/workers/fetch", &fetch);
        let Some((200, body)) = answer else { return Vec::new() };
        let jobs = body["jobs"].as_array().cloned().unwrap_or_default();
        jobs.iter().filter_map(|job| job["id"].as_str().map(str::to_owned)).collect()
    }

    fn ack(&mut self, account: &mut Account, id: &str) {
        let answer = self.post("/ojs/v1/workers/ack", &json!({"job_id": id, "result": {"of": id}}));
        account.acked(id, Answered::of(answer.as_ref()));
    }
}

/// What is there before: jobs in every state.
pub fn prepare(run: &Faulty, account: &mut Account) {
    let mut client = Client { run, wire: None };
    (0..12).for_each(|_| client.enqueue(account, "old"));
    client.fetch("old", 3).iter().for_each(|id| client.ack(account, id));
    client.fetch("old", 2);
}

pub fn run(run: &Faulty, account: &mut Account) {
    let mut client = Client { run, wire: None };
    (0..3).for_each(|_| client.enqueue(account, "q"));
    let taken = client.fetch("old", 3);
    taken.iter().for_each(|id| client.ack(account, id));
    (0..2).for_each(|_| client.enqueue(account, "q"));
    if let Some(id) = client.fetch("q", 1).first() {
        let error = json!({"code": "c", "message": "m"});
        client.post("/ojs/v1/workers/nack", &json!({"job_id": id, "error": error}));
    }
    // What is there is read back, too.
    account.check_with(true, &mut |path| client.send("GET", path, &Value::Null)).unwrap();
    for id in client.fetch("q", 2) {
        client.ack(account, &id);
    }
    client.enqueue(account, "q");
}
