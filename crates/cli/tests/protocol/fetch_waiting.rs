//! Fetches that wait for a job: nobody polls, and no job is lost on the way.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::shorthand::{
    eventually, heartbeat, ids, job_on, job_with, merged, now_ms, register, take, text,
};
use crate::support::Server;

/// A fetch on a connection of its own, which may be read or dropped.
struct Waiting(TcpStream);

impl Waiting {
    fn open(server: &Server, ask: &Value) -> Self {
        let mut stream = TcpStream::connect(server.address()).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = ask.to_string();
        let head = format!(
            "POST /ojs/v1/workers/fetch HTTP/1.1\r\nHost: rota\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        Self(stream)
    }

    /// The jobs that came, once the answer has.
    fn jobs(mut self) -> Vec<Value> {
        let mut text = String::new();
        self.0.read_to_string(&mut text).expect("an answer");
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        let body = text.split_once("\r\n\r\n").expect("a body").1;
        let body: Value = serde_json::from_str(body).expect("JSON");
        body["jobs"].as_array().expect("a list of jobs").clone()
    }
}

fn waiting(server: &Server) -> u64 {
    server.get("/ojs/v1/admin/stats").expect(200)["waiting_fetches"].as_u64().expect("a count")
}

fn wait_until_waiting(server: &Server, count: u64) {
    eventually(&format!("{count} fetches wait"), || (waiting(server) == count).then_some(()));
}

fn long() -> Value {
    json!({"queues": ["q"], "wait_ms": 25_000})
}

#[test]
fn a_waiting_fetch_is_answered_when_a_job_is_enqueued() {
    let server = Server::start();
    server.enqueue(job_on("q"));
    assert_eq!(server.fetch("q", 1).len(), 1);
    let fetch = Waiting::open(&server, &long());
    wait_until_waiting(&server, 1);
    let id = server.enqueue(job_on("q"));
    assert_eq!(ids(&fetch.jobs()), [id]);
    wait_until_waiting(&server, 0);
}

#[test]
fn a_fetch_may_wait_for_a_queue_that_does_not_exist_yet() {
    let server = Server::start();
    let ask = json!({"queues": ["nowhere", "q"], "wait_ms": 25_000});
    let fetch = Waiting::open(&server, &ask);
    wait_until_waiting(&server, 1);
    let id = server.enqueue(job_on("q"));
    assert_eq!(ids(&fetch.jobs()), [id]);
}

#[test]
fn a_waiting_fetch_is_answered_when_a_delayed_job_is_due() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"scheduled_at": "+PT0.3S"})));
    assert_eq!(ids(&Waiting::open(&server, &long()).jobs()), [id]);
}

#[test]
fn a_waiting_fetch_is_answered_when_its_queue_is_resumed() {
    let server = Server::start();
    server.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    let id = server.enqueue(job_on("q"));
    let fetch = Waiting::open(&server, &long());
    wait_until_waiting(&server, 1);
    server.post("/ojs/v1/queues/q/resume", json!({})).expect(200);
    assert_eq!(ids(&fetch.jobs()), [id]);
}

#[test]
fn a_wait_that_is_over_ends_with_nothing() {
    let server = Server::start();
    let began = now_ms();
    let ask = json!({"queues": ["q"], "wait_ms": 300});
    let body = server.post("/ojs/v1/workers/fetch", ask).expect(200);
    assert_eq!(body["jobs"], json!([]));
    assert!(now_ms() - began >= 295, "it did not wait");
    assert_eq!(waiting(&server), 0);
    let id = server.enqueue(job_on("q"));
    assert_eq!(take(&server, "q")["id"], id);
}

#[test]
fn a_wait_of_more_than_thirty_seconds_is_refused() {
    let server = Server::start();
    let fetch =
        |ms: u64| server.post("/ojs/v1/workers/fetch", json!({"queues": ["q"], "wait_ms": ms}));
    assert_eq!(fetch(30_001).expect_error(422, "invalid_request")["details"]["field"], "wait_ms");
    server.enqueue(job_on("q"));
    fetch(30_000).expect(200);
}

#[test]
fn one_job_wakes_exactly_one_of_many() {
    let server = Server::start();
    let ask = json!({"queues": ["q"], "wait_ms": 25_000, "count": 10});
    let all: Vec<Waiting> = (0..50).map(|_| Waiting::open(&server, &ask)).collect();
    wait_until_waiting(&server, 50);
    let id = server.enqueue(job_on("q"));
    wait_until_waiting(&server, 49);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(waiting(&server), 49);
    // The others are answered by a stop, each with nothing.
    server.signal("TERM");
    let answers: Vec<_> = all.into_iter().map(|one| ids(&one.jobs())).collect();
    assert_eq!(answers.iter().filter(|jobs| !jobs.is_empty()).count(), 1);
    assert_eq!(answers.concat(), [id]);
}

#[test]
fn the_one_that_has_waited_longest_is_served_first() {
    let server = Server::start();
    let first = Waiting::open(&server, &long());
    wait_until_waiting(&server, 1);
    let second = Waiting::open(&server, &long());
    wait_until_waiting(&server, 2);
    let a = server.enqueue(job_on("q"));
    assert_eq!(ids(&first.jobs()), [a]);
    let b = server.enqueue(job_on("q"));
    assert_eq!(ids(&second.jobs()), [b]);
}

#[test]
fn a_thousand_fetches_wait_at_once() {
    let server = Server::start();
    let all: Vec<Waiting> = (0..1000).map(|_| Waiting::open(&server, &long())).collect();
    wait_until_waiting(&server, 1000);
    let jobs: Vec<Value> = (0..1000).map(|_| job_on("q")).collect();
    let body = server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})).expect(201);
    let mut sent = ids(body["jobs"].as_array().expect("jobs"));
    let mut got: Vec<String> = all.into_iter().flat_map(|one| ids(&one.jobs())).collect();
    sent.sort_unstable();
    got.sort_unstable();
    assert_eq!(got, sent);
}

#[test]
fn a_client_that_leaves_while_waiting_swallows_no_job() {
    let server = Server::start();
    let gone = Waiting::open(&server, &long());
    wait_until_waiting(&server, 1);
    gone.0.shutdown(Shutdown::Both).unwrap();
    drop(gone);
    let id = server.enqueue(job_on("q"));
    let job = take(&server, "q");
    assert_eq!((text(&job["id"]), &job["attempt"]), (id, &json!(1)));
    assert!(job.get("errors").is_none(), "{job}");
}

#[test]
fn clients_that_leave_in_a_crowd_swallow_no_jobs() {
    let server = Server::start();
    let mut stay = Vec::new();
    for n in 0..40 {
        let fetch = Waiting::open(&server, &long());
        if n % 2 == 0 { stay.push(fetch) } else { drop(fetch) }
    }
    let mut sent: Vec<String> = (0..20).map(|_| server.enqueue(job_on("q"))).collect();
    let jobs: Vec<Value> = stay.into_iter().flat_map(Waiting::jobs).collect();
    assert!(jobs.iter().all(|job| job["attempt"] == 1), "{jobs:?}");
    let mut got = ids(&jobs);
    sent.sort_unstable();
    got.sort_unstable();
    assert_eq!(got, sent);
}

#[test]
fn a_slot_that_a_limited_queue_gets_back_wakes_a_waiter() {
    let server = Server::start();
    server.put("/ojs/v1/admin/queues/q/config", json!({"concurrency": 1})).expect(200);
    let a = server.enqueue(job_on("q"));
    let b = server.enqueue(job_on("q"));
    assert_eq!(ids(&server.fetch("q", 5)), std::slice::from_ref(&a));
    let fetch = Waiting::open(&server, &long());
    wait_until_waiting(&server, 1);
    crate::shorthand::ack(&server, &a);
    assert_eq!(ids(&fetch.jobs()), [b]);
}

/// A worker with room for one job waits for its second while it has the first.
fn frees_its_own_slot(registration: Value) {
    let server = Server::start();
    register(&server, "w1", registration);
    let a = server.enqueue(job_on("q"));
    let b = server.enqueue(job_on("q"));
    let ask = merged(long(), json!({"worker_id": "w1", "count": 5}));
    let jobs = server.post("/ojs/v1/workers/fetch", ask.clone()).expect(200);
    assert_eq!(ids(jobs["jobs"].as_array().expect("jobs")), std::slice::from_ref(&a));
    let fetch = Waiting::open(&server, &ask);
    wait_until_waiting(&server, 1);
    crate::shorthand::ack(&server, &a);
    assert_eq!(ids(&fetch.jobs()), [b]);
}

#[test]
fn a_worker_that_gets_room_is_served_its_waiting_fetch() {
    frees_its_own_slot(json!({"concurrency": 1, "queues": ["q"]}));
}

#[test]
fn a_worker_that_gets_room_is_served_from_the_queues_of_its_fetch() {
    frees_its_own_slot(json!({"concurrency": 1}));
}

#[test]
fn a_worker_that_is_resumed_is_served_its_waiting_fetch() {
    let server = Server::start();
    register(&server, "w1", json!({"queues": ["q"]}));
    server.post("/ojs/v1/admin/workers/w1/quiet", json!({})).expect(200);
    let id = server.enqueue(job_on("q"));
    let ask = merged(long(), json!({"worker_id": "w1"}));
    let fetch = Waiting::open(&server, &ask);
    wait_until_waiting(&server, 1);
    server.post("/ojs/v1/admin/workers/w1/resume", json!({})).expect(200);
    assert_eq!(ids(&fetch.jobs()), [id]);
}

#[test]
fn a_waiting_fetch_of_a_worker_that_pauses_waits_until_it_goes_on() {
    let server = Server::start();
    let fetch = Waiting::open(&server, &merged(long(), json!({"worker_id": "w1"})));
    wait_until_waiting(&server, 1);
    heartbeat(&server, "w1", json!({"state": "quiet"})).expect(200);
    let id = server.enqueue(job_on("q"));
    assert_eq!((waiting(&server), &server.job(&id)["state"]), (1, &json!("available")));
    heartbeat(&server, "w1", json!({"state": "running"})).expect(200);
    assert_eq!(ids(&fetch.jobs()), [id]);
}
