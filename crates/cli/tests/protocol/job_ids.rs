//! Ids that clients bring.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;

use serde_json::{Value, json};

use crate::shorthand::{ack, ids, job_with, merged, take};
use crate::support::Server;

fn id(n: u32) -> String {
    format!("019461a8-1a2b-7c3d-8e4f-{n:012x}")
}

#[track_caller]
fn assert_duplicate(reply: crate::support::Reply, id: &str) -> Value {
    let body = reply.expect(409);
    assert_eq!(
        (&body["error"]["code"], &body["error"]["type"]),
        (&json!("duplicate"), &json!("conflict"))
    );
    assert_eq!(body["error"]["details"]["existing_job_id"], id);
    body
}

#[test]
fn a_clients_id_is_kept() {
    let server = Server::start();
    assert_eq!(server.enqueue(job_with("q", json!({"id": id(1)}))), id(1));
    assert_eq!(server.job(&id(1))["queue"], "q");
    assert_eq!(take(&server, "q")["id"], id(1));
}

#[test]
fn only_lower_case_uuids_of_version_seven_are_ids() {
    let server = Server::start();
    for bad in [
        "019461a8-1a2b-4c3d-8e4f-5a6b7c8d9e0f",
        "019461A8-1A2B-7C3D-8E4F-5A6B7C8D9E0F",
        "019461a81a2b7c3d8e4f5a6b7c8d9e0f",
    ] {
        let reply = server.post("/ojs/v1/jobs", job_with("q", json!({"id": bad})));
        reply.expect_error(400, "invalid_request");
    }
}

#[test]
fn a_repeated_id_is_refused_and_shows_the_job_that_has_it() {
    let server = Server::start();
    server.enqueue(job_with("q", json!({"id": id(1), "args": ["first"]})));
    let again = job_with("other", json!({"id": id(1), "args": ["second"]}));
    let body = assert_duplicate(server.post("/ojs/v1/jobs", again.clone()), &id(1));
    assert_eq!(body["job"]["args"], json!(["first"]));
    assert_eq!((&body["job"]["id"], &body["job"]["state"]), (&json!(id(1)), &json!("available")));
    take(&server, "q");
    ack(&server, &id(1));
    let body = assert_duplicate(server.post("/ojs/v1/jobs", again), &id(1));
    assert_eq!(body["job"]["state"], "completed");
    assert!(server.fetch("other", 5).is_empty());
}

#[test]
fn a_repeated_id_is_refused_after_a_restart() {
    let mut server = Server::start();
    server.enqueue(job_with("q", json!({"id": id(1)})));
    server.restart();
    assert_duplicate(server.post("/ojs/v1/jobs", job_with("q", json!({"id": id(1)}))), &id(1));
    assert_eq!(server.fetch("q", 5).len(), 1);
}

#[test]
fn an_id_repeated_inside_a_batch_refuses_the_batch() {
    let server = Server::start();
    let jobs = [json!({}), json!({"id": id(1)}), json!({"id": id(2)}), json!({"id": id(1)})];
    let jobs: Vec<Value> = jobs.into_iter().map(|more| job_with("q", more)).collect();
    let body = assert_duplicate(server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})), &id(1));
    assert_eq!(body["error"]["details"]["index"], 3);
    assert!(server.fetch("q", 10).is_empty());
    server.get(&format!("/ojs/v1/jobs/{}", id(2))).expect_error(404, "not_found");
    server.enqueue(job_with("q", json!({"id": id(1)})));
}

#[test]
fn a_batch_with_a_taken_id_is_refused_as_a_whole() {
    let server = Server::start();
    server.enqueue(job_with("q", json!({"id": id(1)})));
    let jobs: Vec<Value> = [2, 1].iter().map(|n| job_with("q", json!({"id": id(*n)}))).collect();
    let body = assert_duplicate(server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})), &id(1));
    assert_eq!(body["error"]["details"]["index"], 1);
    assert_eq!(ids(&server.fetch("q", 10)), [id(1)]);
}

#[test]
fn of_many_who_race_for_an_id_exactly_one_wins() {
    const RACERS: usize = 16;
    let server = Server::start();
    for round in 0..5 {
        let start = Barrier::new(RACERS);
        let race = |n: usize| {
            let job = merged(job_with("q", json!({"id": id(round)})), json!({"args": [n]}));
            let batch = n % 2 == 1;
            let path = if batch { "/ojs/v1/jobs/batch" } else { "/ojs/v1/jobs" };
            let body = if batch { json!({"jobs": [job]}) } else { job };
            start.wait();
            server.post(path, body).status
        };
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let race = &race;
            let all: Vec<_> = (0..RACERS).map(|n| scope.spawn(move || race(n))).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| [201, 409].contains(status)), "{statuses:?}");
        assert_eq!(ids(&server.fetch("q", 10)), [id(round)]);
    }
}

#[test]
fn of_many_requests_in_one_pipeline_exactly_one_wins() {
    const REQUESTS: usize = 30;
    let server = Server::start();
    let body = job_with("q", json!({"id": id(1)})).to_string();
    let head = |last: bool| {
        let close = if last { "Connection: close\r\n" } else { "" };
        format!(
            "POST /ojs/v1/jobs HTTP/1.1\r\nHost: rota\r\n{close}Content-Length: {}\r\n\r\n",
            body.len()
        )
    };
    let all: String = (1..=REQUESTS).map(|n| head(n == REQUESTS) + &body).collect();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(all.as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 201").count(), 1, "{answers}");
    assert_eq!(answers.matches("HTTP/1.1 409").count(), REQUESTS - 1, "{answers}");
    assert_eq!(ids(&server.fetch("q", 10)), [id(1)]);
}
