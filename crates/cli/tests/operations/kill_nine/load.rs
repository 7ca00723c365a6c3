//! Clients that go on through crashes and write down what they are told.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::ledger::{Fate, Parcel};
use super::{QUEUES, World};
use crate::seeded_random::Dice;
use crate::wire::Wire;

pub struct Producer<'w> {
    world: &'w World,
    wire: Wire,
    dice: Dice,
    next: u64,
}

impl<'w> Producer<'w> {
    pub fn new(world: &'w World, number: u64, seed: u64) -> Self {
        Self { world, wire: world.connect(), dice: Dice::new(seed), next: number * 1_000_000 }
    }

    pub fn run(mut self) {
        while self.world.producing.load(Ordering::Relaxed) {
            self.next += 1;
            self.send(self.next);
            thread::sleep(Duration::from_micros(self.dice.below(3_000) as u64));
        }
    }

    fn send(&mut self, number: u64) {
        let size = if self.dice.percent(60) { 1 } else { 2 + self.dice.below(20) };
        let queue = QUEUES[self.dice.below(QUEUES.len())];
        let choose = self.dice.percent(50);
        let chosen: Vec<_> = (0..size).map(|_| choose.then(|| self.dice.job_id())).collect();
        let jobs: Vec<Value> =
            (0..size).map(|i| job(queue, number, i, size, chosen[i].as_deref())).collect();
        let parcel = Parcel { queue, chosen: chosen.clone(), fate: Fate::Unknown };
        self.world.ledger.books().parcels.insert(number, parcel);
        let mut again = false;
        loop {
            let answer = if size == 1 {
                self.wire.post("/ojs/v1/jobs", &jobs[0])
            } else {
                self.wire.post("/ojs/v1/jobs/batch", &json!({"jobs": jobs}))
            };
            let Ok(answer) = answer else {
                self.wire = self.world.connect();
                // An id of its own makes it safe to ask again.
                if choose && self.dice.percent(70) {
                    again = true;
                    continue;
                }
                return;
            };
            let body = answer.json();
            let fate = match answer.status {
                201 => Fate::Accepted(ids_of(&body)),
                409 if again && choose => {
                    Fate::Accepted(chosen.iter().flatten().cloned().collect())
                }
                // The first try may have been written; only its own answer could tell.
                503 if again => Fate::Unknown,
                503 => Fate::Refused,
                status => {
                    return self.world.ledger.complain(format!("enqueue: {status} {body}"));
                }
            };
            if let Some(parcel) = self.world.ledger.books().parcels.get_mut(&number) {
                parcel.fate = fate;
            }
            return;
        }
    }
}

fn job(queue: &str, parcel: u64, index: usize, size: usize, id: Option<&str>) -> Value {
    let most = if parcel.is_multiple_of(3) { 2 } else { 50 };
    let mut job = json!({
        "type": "load.job",
        "queue": queue,
        "args": [parcel, index, size, "x".repeat((parcel % 200) as usize)],
        "retry": {"max_attempts": most, "initial_interval_ms": 10, "max_interval_ms": 50},
    });
    if let Some(id) = id {
        job["id"] = json!(id);
    }
    job
}

fn ids_of(body: &Value) -> Vec<String> {
    let id = |job: &Value| job["id"].as_str().unwrap_or_default().to_owned();
    match body["jobs"].as_array() {
        Some(jobs) => jobs.iter().map(id).collect(),
        None => vec![id(&body["job"])],
    }
}

pub struct Worker<'w> {
    world: &'w World,
    wire: Wire,
    name: String,
    dice: Dice,
    /// Received and not settled yet.
    held: Vec<(String, u64)>,
}

impl<'w> Worker<'w> {
    pub fn new(world: &'w World, name: String, seed: u64) -> Self {
        Self { world, wire: world.connect(), name, dice: Dice::new(seed), held: Vec::new() }
    }

    pub fn run(mut self) {
        while self.world.working.load(Ordering::Relaxed) {
            self.fetch(10);
            // Some are kept for a while, so that kills meet jobs in every stage.
            let keep = self.dice.below(6);
            self.settle_down_to(keep);
        }
        self.settle_down_to(0);
    }

    /// Fetches once; the number of jobs received.
    pub fn fetch(&mut self, wait_ms: u64) -> usize {
        let count = 1 + self.dice.below(30);
        let ask = json!({
            "queues": QUEUES, "count": count, "worker_id": self.name, "wait_ms": wait_ms,
        });
        let Ok(answer) = self.wire.post("/ojs/v1/workers/fetch", &ask) else {
            self.wire = self.world.connect();
            return 0;
        };
        let body = answer.json();
        let Some(jobs) = body["jobs"].as_array().filter(|_| answer.status == 200) else {
            if answer.status != 503 {
                self.world.ledger.complain(format!("fetch: {} {body}", answer.status));
            }
            return 0;
        };
        for job in jobs {
            let id = job["id"].as_str().unwrap_or_default();
            let attempt = job["attempt"].as_u64().unwrap_or_default();
            self.world.ledger.received(&self.name, id, attempt);
            self.held.push((id.to_owned(), attempt));
        }
        jobs.len()
    }

    pub fn settle_down_to(&mut self, keep: usize) {
        while self.held.len() > keep {
            if self.dice.percent(20) {
                let n = 1 + self.dice.below(self.held.len());
                let batch = self.held.split_off(self.held.len() - n);
                self.ack_together(&batch);
                continue;
            }
            let one = self.held.swap_remove(self.dice.below(self.held.len()));
            if self.dice.percent(75) { self.ack(&one) } else { self.nack(&one) }
        }
    }

    fn ack(&mut self, one: &(String, u64)) {
        self.world.ledger.books().acks.insert(one.clone());
        let ask = json!({"job_id": one.0, "attempt": one.1, "worker_id": self.name});
        let (status, body, again) = self.insist("/ojs/v1/workers/ack", &ask);
        self.judge_ack(one, status, &body, again);
        if self.dice.percent(10) {
            let (status, body, _) = self.insist("/ojs/v1/workers/ack", &ask);
            if status != 409 {
                self.world.ledger.complain(format!("second ack of {}: {status} {body}", one.0));
            }
        }
    }

    fn ack_together(&mut self, batch: &[(String, u64)]) {
        self.world.ledger.books().acks.extend(batch.iter().cloned());
        let one =
            |(id, n): &(String, u64)| json!({"job_id": id, "attempt": n, "worker_id": self.name});
        let ask = json!({"jobs": batch.iter().map(one).collect::<Vec<_>>()});
        let (status, body, again) = self.insist("/ojs/v1/workers/ack", &ask);
        let results = body["results"].as_array().filter(|all| all.len() == batch.len());
        let Some(results) = results.filter(|_| status == 200) else {
            return self.world.ledger.complain(format!("ack of {ask}: {status} {body}"));
        };
        for (one, result) in batch.iter().zip(results) {
            let status = result["status"].as_u64().unwrap_or(200) as u16;
            self.judge_ack(one, status, result, again);
        }
    }

    fn judge_ack(&self, one: &(String, u64), status: u16, body: &Value, again: bool) {
        let state = &body["error"]["details"]["current_state"];
        match status {
            200 => self.world.ledger.completed(&one.0, one.1),
            // The ack before this one was not answered, and it counted.
            409 if again && state == "completed" => self.world.ledger.completed(&one.0, one.1),
            _ => self.world.ledger.complain(format!("ack of {one:?}: {status} {body}")),
        }
    }

    fn nack(&mut self, one: &(String, u64)) {
        self.world.ledger.books().nacks.insert(one.clone());
        let requeue = self.dice.percent(30);
        let ask = json!({
            "job_id": one.0, "attempt": one.1, "worker_id": self.name, "requeue": requeue,
            "error": {"code": "boom", "message": "so it goes"},
        });
        let (status, body, again) = self.insist("/ojs/v1/workers/nack", &ask);
        if status != 200 && !(again && status == 409) {
            self.world.ledger.complain(format!("nack of {one:?}: {status} {body}"));
        }
    }

    /// Asks until there is an answer, and says whether an earlier try may have counted already.
    fn insist(&mut self, path: &str, ask: &Value) -> (u16, Value, bool) {
        let mut again = false;
        loop {
            match self.wire.post(path, ask) {
                Ok(answer) if answer.status == 503 => thread::sleep(Duration::from_millis(20)),
                Ok(answer) => return (answer.status, answer.json(), again),
                Err(_) => {
                    again = true;
                    self.wire = self.world.connect();
                }
            }
        }
    }
}
