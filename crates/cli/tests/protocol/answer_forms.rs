//! The two forms of some answers: a job's members beside the job, and a queue as an object or as a name.

use serde_json::{Value, json};

use crate::shorthand::{job_on, job_with};
use crate::support::{Reply, Server};

/// The job in `job`, which must be at the top level as well.
#[track_caller]
fn flat_job(answer: &Value) -> &Value {
    for (key, value) in answer["job"].as_object().unwrap() {
        assert_eq!(&answer[key], value, "'{key}' of {answer}");
    }
    &answer["job"]
}

#[test]
fn an_answer_with_one_job_has_its_members_beside_it() {
    let server = Server::start();
    let answer = server.post("/ojs/v1/jobs", job_on("q")).expect(201);
    let id = flat_job(&answer)["id"].as_str().unwrap().to_owned();
    assert_eq!(
        flat_job(&server.get(&format!("/ojs/v1/jobs/{id}")).expect(200))["state"],
        "available"
    );
    let cancelled = server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
    let job = flat_job(&cancelled);
    assert_eq!((&job["state"], &job["previous_state"]), (&json!("cancelled"), &json!("available")));

    let id = server.enqueue(job_with("q", json!({"retry": {"max_attempts": 1}})));
    server.fetch("q", 1);
    let nack = json!({"job_id": id, "error": {"code": "x", "message": "y"}});
    server.post("/ojs/v1/workers/nack", nack).expect(200);
    let retried = server.post(&format!("/ojs/v1/dead-letter/{id}/retry"), json!({})).expect(200);
    assert_eq!(flat_job(&retried)["state"], "available");
}

#[test]
fn members_of_the_answer_appear_once_even_if_the_job_has_its_own() {
    let server = Server::start();
    let job = job_with("q", json!({"job": "mine", "quota_exceeded": 7, "x_other": [{"job": 1}]}));
    let reply = server.post("/ojs/v1/jobs", job);
    assert_eq!(reply.text.matches(r#""job":{"#).count(), 1, "{}", reply.text);
    assert_eq!(reply.text.matches(r#""quota_exceeded":"#).count(), 1, "{}", reply.text);
    let answer = reply.expect(201);
    assert_eq!(
        (&answer["job"]["job"], &answer["job"]["quota_exceeded"]),
        (&json!("mine"), &json!(7))
    );
    assert_eq!(answer["x_other"], answer["job"]["x_other"]);
}

#[test]
fn statistics_name_the_queue_for_clients_that_name_the_version() {
    let server = Server::start();
    server.enqueue(job_on("q"));
    let ask = |headers: &[(&str, &str)]| -> Reply {
        server.send("GET", "/ojs/v1/queues/q/stats", headers, None)
    };
    let of_sdk = ask(&[("OJS-Version", "1.0")]).expect(200);
    assert_eq!((&of_sdk["queue"], &of_sdk["available"]), (&json!("q"), &json!(1)));
    let plain = ask(&[]).expect(200);
    assert_eq!((&plain["queue"]["name"], &plain["queue"]["available"]), (&json!("q"), &json!(1)));
    for figures in [&of_sdk, &of_sdk["stats"], &plain["queue"], &plain["stats"]] {
        for average in ["avg_duration_ms", "avg_wait_ms", "throughput_per_second"] {
            assert_eq!(figures[average], 0.0, "{average} of {figures}");
        }
    }
    let of_tenant = ask(&[("X-Tenant-Id", "_default"), ("OJS-Version", "1.0")]).expect(200);
    assert_eq!(of_tenant.get("avg_wait_ms"), None, "kept for whole queues: {of_tenant}");
}
