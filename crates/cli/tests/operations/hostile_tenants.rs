//! A tenant that sends more than its part, beside others.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Server;
use crate::wire::{Answer, Wire, request};

const TENANT_A: &str = "X-OJS-Tenant: a";

fn wait_for_a_job(server: &Server, tenant: &str) -> Wire {
    let wire = Wire::open(server.address()).unwrap();
    let body = json!({"queues": ["empty"], "wait_ms": 30_000}).to_string();
    wire.write(&request("POST", "/ojs/v1/workers/fetch", &[tenant], body.as_bytes())).unwrap();
    wire
}

fn get(server: &Server, path: &str, headers: &[&str]) -> Answer {
    let mut wire = Wire::open(server.address()).unwrap();
    wire.write(&request("GET", path, headers, b"")).unwrap();
    wire.answer().unwrap()
}

#[track_caller]
fn eventually(is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "still not so");
        thread::sleep(Duration::from_millis(10));
    }
}

fn waiting_fetches(server: &Server) -> Value {
    server.get("/ojs/v1/admin/stats").expect(200)["waiting_fetches"].clone()
}

#[test]
fn requests_of_one_tenant_beyond_its_cap_are_rejected_and_others_are_served() {
    let server = Server::start_with(&["--limits-requests-per-tenant", "3"]);
    let waiting: Vec<Wire> = (0..3).map(|_| wait_for_a_job(&server, TENANT_A)).collect();
    eventually(|| waiting_fetches(&server) == 3);
    let answer = get(&server, "/ojs/v1/queues", &[TENANT_A]);
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["code"]), (429, &json!("TENANT_LIMIT_EXCEEDED")), "{error}");
    assert_eq!((&error["limit"], &error["maximum"]), (&json!("requests_per_tenant"), &json!(3)));
    assert_eq!(answer.header("retry-after"), Some("1"));
    // The body of a rejected request is not read.
    let mut wire = Wire::open(server.address()).unwrap();
    let head = request("POST", "/ojs/v1/jobs", &[TENANT_A], &[b' '; 1_000]);
    wire.write(&head[..head.len() - 1_000]).unwrap();
    assert_eq!(wire.answer().unwrap().status, 429);
    for headers in [&[][..], &["X-OJS-Tenant: b"]] {
        assert_eq!(get(&server, "/ojs/v1/queues", headers).status, 200, "{headers:?}");
    }
    assert_eq!(get(&server, "/health", &[TENANT_A]).status, 200, "probes always get in");
    drop(waiting);
    eventually(|| get(&server, "/ojs/v1/queues", &[TENANT_A]).status == 200);
}

#[test]
fn unread_answers_beyond_the_bound_are_given_up_for_newer_ones_of_the_same_tenant() {
    let server = Server::start_with(&[
        "--limits-unread-bytes-per-tenant",
        "40MiB",
        "--limits-answer-bytes",
        "16MiB",
    ]);
    let job = json!({"type": "a", "args": ["x".repeat(1000 << 10)], "meta": {"tenant_id": "a"}});
    (0..10).for_each(|_| drop(server.enqueue(job.clone())));
    let list = |tenant: &str| {
        let wire = Wire::open(server.address()).unwrap();
        wire.write(&request("GET", "/ojs/v1/jobs?limit=100", &[tenant], b"")).unwrap();
        // The answer is rendered when its first byte is there.
        wire.stream().peek(&mut [0]).unwrap();
        wire
    };
    // Each answer has nearly 16 MiB, so there is room for two.
    let mut unread: Vec<Wire> = (0..5).map(|_| list(TENANT_A)).collect();
    let newest = unread.split_off(3);
    for mut wire in unread {
        assert!(wire.answer().is_err(), "an old answer was cut off");
    }
    for mut wire in newest {
        assert_eq!(wire.answer().expect("a new answer can be read to its end").status, 200);
    }
}
