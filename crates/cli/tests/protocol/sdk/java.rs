//! The Java SDK. It casts lists and objects, takes defaults for everything else, and sends `{}` where others
//! send no body.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Sdk, UNSERVED};

const HEADERS: &[(&str, &str)] = &[
    ("User-Agent", "Java-http-client/21"),
    ("Content-Type", "application/openjobspec+json"),
    ("Accept", "application/openjobspec+json"),
    ("OJS-Version", "1.0"),
];

#[derive(Deserialize)]
struct JobResponse {
    job: Map<String, Value>,
}

#[derive(Deserialize)]
struct CronList {
    cron_jobs: Vec<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Queues {
    queues: Vec<Map<String, Value>>,
}

#[test]
fn jobs_and_a_worker() {
    let sdk = Sdk::new(HEADERS);
    let retry = json!({
        "max_attempts": 4, "initial_interval_ms": 1000, "backoff_coefficient": 2.0, "max_interval_ms": 300000,
        "jitter": true,
    });
    let options = json!({
        "queue": sdk.queue, "priority": 5, "timeout_ms": 5000, "delay_until": "2099-01-01T00:00:00.123456789Z",
        "expires_at": "2099-01-02T00:00:00Z", "retry": retry, "tags": ["x"],
    });
    let full =
        json!({"type": "email.send", "args": [{"a": 1}], "meta": {"k": "v"}, "options": options});
    let job = sdk.post::<JobResponse>("/jobs", full).job;
    assert_eq!((&job["retry"], &job["max_attempts"]), (&retry, &json!(4)));
    let path = format!("/jobs/{}", job["id"].as_str().unwrap());
    assert_eq!(sdk.get::<JobResponse>(&path).job["state"], "scheduled");
    assert_eq!(sdk.delete::<JobResponse>(&path).job["state"], "cancelled");

    let id = sdk.dead_letter_job();
    let list: Value = sdk.get(&format!("/dead-letter?limit=10&offset=0&queue={}", sdk.queue));
    assert_eq!(list["jobs"][0]["error"]["type"], "handler_error");
    assert_eq!(
        sdk.post::<JobResponse>(&format!("/dead-letter/{id}/retry"), json!({})).job["id"],
        id
    );
    let fetched: Value = sdk.post(
        "/workers/fetch",
        json!({"worker_id": "worker_01", "queues": [sdk.queue], "count": 10}),
    );
    assert_eq!(fetched["jobs"][0]["id"], id);
    let beat = json!({"worker_id": "worker_01", "active_jobs": [id]});
    assert_eq!(sdk.post::<Value>("/workers/heartbeat", beat)["state"], "running");
    let _: Value = sdk.post("/workers/ack", json!({"job_id": id, "result": {"sent": true}}));
    assert_eq!(sdk.get::<JobResponse>(&format!("/jobs/{id}")).job["result"]["sent"], true);
}

#[test]
fn queues_schedules_and_the_rest() {
    let sdk = Sdk::new(HEADERS);
    let _: JobResponse = sdk
        .post("/jobs", json!({"type": "email.send", "args": [], "options": {"queue": sdk.queue}}));
    assert!(!sdk.get::<Queues>("/queues").queues.is_empty());
    let stats: Map<String, Value> = sdk.get(&format!("/queues/{}/stats", sdk.queue));
    assert_eq!((&stats["queue"], &stats["available"]), (&json!(sdk.queue), &json!(1)));
    for action in ["pause", "resume"] {
        let _: Value = sdk.post(&format!("/queues/{}/{action}", sdk.queue), json!({}));
    }
    let cron = json!({"name": sdk.queue, "cron": "*/5 * * * *", "type": "email.send", "args": [1]});
    assert_eq!(sdk.post::<Map<String, Value>>("/cron", cron)["name"], sdk.queue);
    assert!(sdk.get::<CronList>("/cron").cron_jobs.iter().any(|cron| cron["name"] == sdk.queue));
    let _: Value = sdk.delete(&format!("/cron/{}", sdk.queue));
    for (method, path) in UNSERVED {
        let _: Value = sdk.refused(method, path, json!({}));
    }
}
