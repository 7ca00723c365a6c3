//! Many acks or nacks in one request, each answered for itself.

use serde_json::{Value, json};

use crate::shorthand::{NOBODY, ack, boom, ids, job_on, job_with};
use crate::support::Server;

fn settle_all(server: &Server, what: &str, jobs: Vec<Value>) -> Value {
    server.post(&format!("/ojs/v1/workers/{what}"), json!({"jobs": jobs})).expect(200)
}

fn started(server: &Server, count: u32) -> Vec<String> {
    (0..count).for_each(|_| drop(server.enqueue(job_on("q"))));
    ids(&server.fetch("q", count))
}

#[test]
fn each_ack_of_a_list_has_its_own_answer() {
    let server = Server::start();
    let jobs = started(&server, 4);
    ack(&server, &jobs[1]);
    let waiting = server.enqueue(job_on("q"));
    let body = settle_all(
        &server,
        "ack",
        vec![
            json!({"job_id": jobs[0], "result": {"n": 0}}),
            json!({"job_id": NOBODY}),
            json!({"job_id": jobs[1]}),
            json!({"job_id": jobs[2], "result": "two"}),
            json!({"job_id": jobs[2], "result": "again"}),
            json!({"job_id": waiting}),
            json!({"job_id": jobs[3], "attempt": 5}),
        ],
    );
    assert_eq!((&body["succeeded"], &body["failed"]), (&json!(2), &json!(5)));
    let results = body["results"].as_array().expect("results");
    let outcome =
        |one: &Value| one["status"].as_u64().map_or_else(|| one["state"].clone(), Value::from);
    let outcomes: Vec<Value> = results.iter().map(outcome).collect();
    let expected = [
        json!("completed"),
        json!(404),
        json!(409),
        json!("completed"),
        json!(409),
        json!(409),
        json!(409),
    ];
    assert_eq!(outcomes, expected, "{body}");
    let named: Vec<Value> = results.iter().map(|one| one["job_id"].clone()).collect();
    let asked = [&jobs[0], NOBODY, &jobs[1], &jobs[2], &jobs[2], &waiting, &jobs[3]];
    assert_eq!(named, asked.map(|id| json!(id)));
    assert_eq!(results[1]["error"]["code"], "not_found");
    assert_eq!(results[5]["error"]["details"]["current_state"], "available");
    assert_eq!(server.job(&jobs[2])["result"], "two");
    assert_eq!(server.job(&jobs[3])["state"], "active");
}

#[test]
fn each_nack_of_a_list_has_its_own_answer() {
    let server = Server::start();
    let once = server.enqueue(job_with("q", json!({"retry": {"max_attempts": 1}})));
    let more = server.enqueue(job_with("q", json!({"retry": {"initial_interval": "PT1H"}})));
    let back = server.enqueue(job_on("q"));
    assert_eq!(server.fetch("q", 9).len(), 3);
    let body = settle_all(
        &server,
        "nack",
        vec![
            json!({"job_id": once, "error": boom()}),
            json!({"job_id": more, "error": boom()}),
            json!({"job_id": NOBODY, "error": boom()}),
            json!({"job_id": back, "error": boom(), "requeue": true}),
            json!({"job_id": once, "error": boom()}),
        ],
    );
    let states: Vec<Value> =
        body["results"].as_array().unwrap().iter().map(|one| one["state"].clone()).collect();
    let expected =
        [json!("discarded"), json!("retryable"), json!(null), json!("available"), json!(null)];
    assert_eq!(states, expected, "{body}");
    assert!(body["results"][1]["next_attempt_at"].is_string(), "{body}");
    assert_eq!(server.job(&once)["errors"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_list_has_bounds_and_a_bad_entry_refuses_it() {
    let server = Server::start();
    let jobs = started(&server, 1);
    let send = |list: Value| server.post("/ojs/v1/workers/ack", json!({"jobs": list}));
    send(json!([])).expect_error(422, "invalid_request");
    send(json!(vec![json!({"job_id": NOBODY}); 1001])).expect_error(422, "invalid_request");
    send(json!({"job_id": jobs[0]})).expect_error(400, "invalid_request");
    let error =
        send(json!([{"job_id": jobs[0]}, {"job_id": "x"}])).expect_error(400, "invalid_request");
    assert_eq!(error["details"]["index"], 1);
    assert_eq!(server.job(&jobs[0])["state"], "active");
}

#[test]
fn a_thousand_jobs_are_acknowledged_at_once() {
    let server = Server::start();
    let batch: Vec<Value> = (0..1000).map(|_| job_on("q")).collect();
    server.post("/ojs/v1/jobs/batch", json!({"jobs": batch})).expect(201);
    let jobs = ids(&server.fetch("q", 1000));
    let body = settle_all(&server, "ack", jobs.iter().map(|id| json!({"job_id": id})).collect());
    assert_eq!((&body["succeeded"], &body["failed"]), (&json!(1000), &json!(0)));
    let stats = server.get("/ojs/v1/queues/q").expect(200);
    assert_eq!(
        (&stats["stats"]["completed"], &stats["stats"]["active"]),
        (&json!(1000), &json!(0))
    );
}

#[test]
fn ids_that_contradict_each_other_are_refused() {
    let server = Server::start();
    let jobs = started(&server, 2);
    let ack = |body: Value| server.post("/ojs/v1/workers/ack", body);
    ack(json!({"job_id": jobs[0], "id": jobs[1]})).expect_error(400, "invalid_request");
    let both = json!({"job_id": jobs[0], "jobs": [{"job_id": jobs[1]}]});
    ack(both).expect_error(422, "invalid_request");
    ack(json!({"jobs": [{"job_id": jobs[0], "id": jobs[1]}]})).expect_error(400, "invalid_request");
    for id in &jobs {
        assert_eq!(server.job(id)["state"], "active", "nothing was settled");
    }
    ack(json!({"job_id": jobs[0], "id": jobs[0]})).expect(200);
}
