//! Bodies and jobs that are too large.

use serde_json::{Value, json};

use super::{ask, assert_alive, assert_refusal, assert_refused_with, post};
use crate::support::Server;
use crate::wire::{Answer, Wire};

const FLAGS: [&str; 12] = [
    "--limits-body-bytes",
    "64KiB",
    "--limits-job-bytes",
    "8KiB",
    "--limits-result-bytes",
    "2KiB",
    "--limits-error-bytes",
    "2KiB",
    "--limits-batch-jobs",
    "10",
    "--limits-fetch-jobs",
    "10",
];

#[test]
fn a_body_over_the_limit_is_refused_however_it_is_sent() {
    let server = Server::start_with(&FLAGS);
    let body = job_of(100_000).to_string();
    let with_length = ask(&server, "POST", "/ojs/v1/jobs", body.as_bytes());
    assert_refused_with(&with_length, &[413], "with its length");
    let chunked = send_chunked(&server, body.as_bytes());
    assert_refused_with(&chunked, &[413], "in chunks");
    assert_alive(&server);
}

#[test]
fn a_length_that_is_only_claimed_is_refused_without_waiting_for_it() {
    let server = Server::start_with(&FLAGS);
    let mut wire = Wire::open(server.address()).unwrap();
    wire.write(b"POST /ojs/v1/jobs HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n{").unwrap();
    let answer = wire.answer().expect("it is refused at once");
    assert_refused_with(&answer, &[413], "a claim");
    assert_alive(&server);
}

#[test]
fn a_body_in_tiny_chunks_is_taken() {
    let server = Server::start_with(&FLAGS);
    let mut wire = Wire::open(server.address()).unwrap();
    let mut bytes = b"POST /ojs/v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for byte in job_of(1_000).to_string().bytes() {
        bytes.extend_from_slice(&[b'1', b'\r', b'\n', byte, b'\r', b'\n']);
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    wire.write(&bytes).unwrap();
    assert_eq!(wire.answer().unwrap().status, 201);
    assert_alive(&server);
}

#[test]
fn a_single_job_has_its_own_size_limit() {
    let server = Server::start_with(&FLAGS);
    assert_refused_with(&post(&server, "/ojs/v1/jobs", &job_of(9_000)), &[413], "one job");
    let batch = json!({"jobs": [job_of(10), job_of(9_000)]});
    let answer = post(&server, "/ojs/v1/jobs/batch", &batch);
    assert_refused_with(&answer, &[413], "a job in a batch");
    assert_eq!(answer.json()["error"]["details"]["index"], 1);
    let stats = server.get("/ojs/v1/admin/stats").expect(200);
    assert_eq!(stats["jobs"]["available"], 0, "the other job of the batch was not taken either");
    assert_alive(&server);
}

#[test]
fn results_errors_and_lists_have_limits() {
    let server = Server::start_with(&FLAGS);
    let id = server.enqueue(job_of(10));
    server.fetch("default", 1);
    let text = "x".repeat(3_000);
    let ack = json!({"job_id": id, "result": {"text": text}});
    assert_refused_with(&post(&server, "/ojs/v1/workers/ack", &ack), &[413], "a result");
    let nack = json!({"job_id": id, "error": {"message": text}});
    assert_refused_with(&post(&server, "/ojs/v1/workers/nack", &nack), &[413], "an error");
    let eleven = json!({"jobs": vec![job_of(1); 11]});
    assert_refusal(&post(&server, "/ojs/v1/jobs/batch", &eleven), "a batch");
    let acks = json!({"jobs": vec![json!({"job_id": id}); 11]});
    assert_refusal(&post(&server, "/ojs/v1/workers/ack", &acks), "acks");
    let fetch = json!({"queues": ["default"], "count": 11});
    assert_refusal(&post(&server, "/ojs/v1/workers/fetch", &fetch), "a fetch");
    let beat = json!({"worker_id": "w", "active_jobs": (0..11).map(|n| n.to_string()).collect::<Vec<_>>()});
    assert_refusal(&post(&server, "/ojs/v1/workers/heartbeat", &beat), "a heartbeat");
    assert_eq!(server.job(&id)["state"], "active", "nothing happened to the job");
    server.post("/ojs/v1/workers/ack", json!({"job_id": id})).expect(200);
    assert_alive(&server);
}

fn job_of(bytes: usize) -> Value {
    json!({"type": "a", "args": ["x".repeat(bytes)]})
}

fn send_chunked(server: &Server, body: &[u8]) -> Answer {
    let mut wire = Wire::open(server.address()).unwrap();
    wire.write(b"POST /ojs/v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    for chunk in body.chunks(1000) {
        let size = format!("{:x}\r\n", chunk.len());
        // It may have refused already and hung up.
        if wire.write(&[size.as_bytes(), chunk, b"\r\n"].concat()).is_err() {
            break;
        }
    }
    let _ = wire.write(b"0\r\n\r\n");
    wire.answer().expect("a refusal is heard")
}
