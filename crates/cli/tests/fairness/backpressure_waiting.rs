//! `block`: producers that wait for room.

use serde_json::{Value, json};

use crate::api::{bound, enqueue_many, shared, start};
use crate::shorthand::{eventually, fresh_queue, ids, job_on, now_ms, text};
use crate::support::{JSON, Reply, Server};
use crate::watch::nap;

fn patient(server: &Server, seconds: &str, path: &str, body: &Value) -> Reply {
    let headers = [JSON, ("OJS-Block-Timeout", seconds)];
    server.send("POST", path, &headers, Some(body.to_string().as_bytes()))
}

fn full(server: &Server, depth: usize) -> (String, Vec<String>) {
    let queue = fresh_queue();
    bound(server, &queue, json!({"max_depth": depth, "strategy": "block"}));
    let sent = enqueue_many(server, &job_on(&queue), depth);
    (queue, sent)
}

#[test]
fn a_blocked_producer_is_answered_when_there_is_room() {
    let server = shared();
    let (queue, sent) = full(&server, 1);
    let (server, job) = (&server, &job_on(&queue));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || patient(server, "50", "/ojs/v1/jobs", job));
        nap(200);
        assert!(!waiting.is_finished(), "it did not wait");
        assert_eq!(ids(&server.fetch(&queue, 1)), sent);
        let id = text(&waiting.join().unwrap().expect(201)["job"]["id"]);
        assert_eq!(ids(&server.fetch(&queue, 1)), [id]);
    });
}

#[test]
fn a_wait_that_is_over_ends_with_429() {
    let server = shared();
    let (queue, _) = full(&server, 1);
    let began = now_ms();
    let reply = patient(&server, "1", "/ojs/v1/jobs", &job_on(&queue));
    assert!(now_ms() - began >= 990, "it did not wait");
    assert_eq!(reply.header("X-OJS-Queue-Bound"), Some("1"));
    assert!(reply.header("Retry-After").is_some());
    assert_eq!(reply.expect_error(429, "QUEUE_FULL")["strategy"], "block");
    assert_eq!(server.fetch(&queue, 9).len(), 1, "nothing came in late");
}

#[test]
fn without_a_timeout_nobody_waits() {
    let server = shared();
    let (queue, _) = full(&server, 1);
    server.post("/ojs/v1/jobs", job_on(&queue)).expect_error(429, "QUEUE_FULL");
    patient(&server, "0", "/ojs/v1/jobs", &job_on(&queue)).expect_error(429, "QUEUE_FULL");
}

#[test]
fn a_timeout_that_is_none_is_refused() {
    let server = shared();
    let (queue, _) = full(&server, 1);
    for bad in ["soon", "-1"] {
        let status = patient(&server, bad, "/ojs/v1/jobs", &job_on(&queue)).status;
        assert!(matches!(status, 400 | 422), "{status} for {bad}");
    }
}

#[test]
fn a_queue_that_rejects_does_so_whatever_the_timeout() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 1}));
    server.enqueue(job_on(&queue));
    patient(&server, "20", "/ojs/v1/jobs", &job_on(&queue)).expect_error(429, "QUEUE_FULL");
}

#[test]
fn a_batch_waits_for_room_for_all_of_it() {
    let server = shared();
    let (queue, _) = full(&server, 3);
    let (server, batch) = (&server, &json!({"jobs": [job_on(&queue), job_on(&queue)]}));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || patient(server, "50", "/ojs/v1/jobs/batch", batch));
        nap(100);
        server.fetch(&queue, 1);
        nap(150);
        assert!(!waiting.is_finished(), "there was room for one only");
        server.fetch(&queue, 1);
        waiting.join().unwrap().expect(201);
        assert_eq!(server.fetch(&queue, 9).len(), 3);
    });
}

#[test]
fn room_for_one_lets_one_of_many_in() {
    let server = shared();
    let (queue, _) = full(&server, 1);
    let (server, job) = (&server, &job_on(&queue));
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4)
            .map(|_| scope.spawn(move || patient(server, "50", "/ojs/v1/jobs", job).status))
            .collect();
        let answered = || all.iter().filter(|one| one.is_finished()).count();
        for count in 1..=4 {
            assert_eq!(server.fetch(&queue, 9).len(), 1);
            eventually("one more is let in", || (answered() >= count).then_some(()));
            nap(50);
            assert_eq!(answered(), count, "there was room for one only");
        }
        assert!(all.into_iter().all(|one| one.join().unwrap() == 201));
    });
}

#[test]
fn a_wider_bound_lets_waiting_producers_in() {
    let server = shared();
    let (queue, _) = full(&server, 1);
    let (server, job) = (&server, &job_on(&queue));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || patient(server, "50", "/ojs/v1/jobs", job));
        nap(150);
        bound(server, &queue, json!({"max_depth": 2, "strategy": "block"}));
        waiting.join().unwrap().expect(201);
    });
}

#[test]
fn a_stop_does_not_wait_for_blocked_producers() {
    let mut server = start(&[]);
    let (queue, _) = full(&server, 1);
    let address = server.url("/ojs/v1/jobs");
    let body = job_on(&queue).to_string();
    let producer = std::thread::spawn(move || {
        let request = ureq::post(&address)
            .config()
            .http_status_as_error(false)
            .build()
            .header("OJS-Block-Timeout", "60")
            .header("Content-Type", "application/json");
        request.send(body.as_bytes()).map(|reply| reply.status().as_u16())
    });
    nap(200);
    assert!(server.terminate().success());
    if let Ok(status) = producer.join().unwrap() {
        assert!(matches!(status, 429 | 503), "{status}");
    }
}
