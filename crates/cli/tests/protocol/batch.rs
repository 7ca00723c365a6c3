//! Many jobs in one request: all or none.

use serde_json::{Value, json};

use crate::shorthand::{ids, job_on, job_with};
use crate::support::{Reply, Server};

fn send(server: &Server, jobs: Vec<Value>) -> Reply {
    server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs}))
}

#[test]
fn a_batch_is_accepted_in_its_order() {
    let server = Server::start();
    let jobs = (0..5).map(|n| job_with("q", json!({"args": [n]}))).collect();
    let body = send(&server, jobs).expect(201);
    assert_eq!(body["count"], 5);
    let jobs = body["jobs"].as_array().expect("jobs");
    for (job, n) in jobs.iter().zip(0..) {
        assert_eq!((&job["args"], &job["state"]), (&json!([n]), &json!("available")));
    }
    assert_eq!(ids(&server.fetch("q", 10)), ids(jobs));
}

#[test]
fn a_batch_with_one_bad_job_is_refused_and_the_job_is_named() {
    let server = Server::start();
    for (bad, status, code) in [
        (json!({"type": "a.b"}), 400, "invalid_request"),
        (job_with("q", json!({"priority": 500})), 422, "invalid_request"),
        (job_with("q", json!({"unique": {}})), 422, "unsupported"),
        (json!(17), 400, "invalid_payload"),
    ] {
        let error = send(&server, vec![job_on("q"), job_on("q"), bad, job_on("q")])
            .expect_error(status, code);
        assert_eq!(error["details"]["index"], 2, "{error}");
        assert!(error["message"].as_str().unwrap().contains("index 2"), "{error}");
    }
    assert!(server.fetch("q", 10).is_empty());
}

#[test]
fn a_batch_has_from_one_to_a_thousand_jobs() {
    let server = Server::start();
    assert_eq!(send(&server, vec![job_on("q"); 1000]).expect(201)["count"], 1000);
    send(&server, vec![job_on("q"); 1001]).expect_error(422, "invalid_request");
    send(&server, vec![]).expect_error(400, "invalid_request");
    for body in [json!({}), json!({"jobs": {}}), json!({"jobs": null})] {
        server.post("/ojs/v1/jobs/batch", body).expect_error(400, "invalid_request");
    }
    let stats = server.get("/ojs/v1/queues/q").expect(200);
    assert_eq!(stats["stats"]["available"], 1000);
}

#[test]
fn a_batch_may_mix_queues_times_and_priorities() {
    let server = Server::start();
    let jobs = vec![
        job_with("a", json!({"scheduled_at": "2099-01-01T00:00:00Z"})),
        job_with("b", json!({"priority": 5})),
        job_with("b", json!({"pending": true})),
        job_with("b", json!({"priority": 9})),
    ];
    let body = send(&server, jobs).expect(201);
    let states: Vec<&Value> =
        body["jobs"].as_array().unwrap().iter().map(|job| &job["state"]).collect();
    assert_eq!(states, ["scheduled", "available", "pending", "available"]);
    let order: Vec<_> = server.fetch("b", 9).iter().map(|job| job["priority"].clone()).collect();
    assert_eq!(order, [json!(9), json!(5)]);
}

#[test]
fn a_batch_that_needs_too_many_queues_is_refused_as_a_whole() {
    let server = Server::start_with(&["--limits-queues", "2"]);
    server.enqueue(job_on("a"));
    let jobs = vec![job_on("a"), job_on("b"), job_on("c")];
    send(&server, jobs).expect_error(422, "invalid_request");
    assert_eq!(server.fetch("a", 9).len(), 1);
    assert_eq!(send(&server, vec![job_on("a"), job_on("b")]).expect(201)["count"], 2);
}
