//! The JavaScript SDK. It checks no types; these are the members that its interfaces declare.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Sdk, UNSERVED};

const HEADERS: &[(&str, &str)] = &[
    ("User-Agent", "node"),
    ("Content-Type", "application/openjobspec+json"),
    ("Accept", "application/openjobspec+json"),
    ("OJS-Version", "1.0"),
];

#[derive(Deserialize)]
struct JobResponse {
    job: Job,
}

#[derive(Deserialize)]
struct Job {
    specversion: String,
    id: String,
    #[serde(rename = "type")]
    kind: String,
    queue: String,
    args: Vec<Value>,
    state: String,
    attempt: u32,
    result: Option<Value>,
}

/// At the top level.
#[derive(Deserialize)]
struct QueueStats {
    name: String,
    available: u64,
    active: u64,
    scheduled: u64,
    retryable: u64,
    completed: u64,
    discarded: u64,
    paused: bool,
}

#[derive(Deserialize)]
struct CronResponse {
    cron_job: CronJob,
}

#[derive(Deserialize)]
struct CronList {
    cron_jobs: Vec<CronJob>,
    pagination: CronPagination,
}

#[derive(Deserialize)]
struct CronJob {
    name: String,
    cron: String,
    #[serde(rename = "type")]
    kind: String,
    args: Vec<Value>,
    status: String,
    created_at: String,
}

#[derive(Deserialize)]
struct CronPagination {
    total: Option<u64>,
    page: Option<u64>,
    per_page: Option<u64>,
}

#[test]
fn jobs_and_a_worker() {
    let sdk = Sdk::new(HEADERS);
    let options = json!({
        "queue": sdk.queue, "priority": 5, "timeout_ms": 5000, "delay_until": "2099-01-01T00:00:00.000Z",
        "expires_at": "2099-01-02T00:00:00Z", "tags": ["a"], "visibility_timeout_ms": 10000,
        "retry": {"max_attempts": 4, "backoff_coefficient": 2, "initial_interval": "PT1S", "max_interval": "PT1M",
            "jitter": true, "non_retryable_errors": ["x"], "on_exhaustion": "dead_letter"},
    });
    let full = json!({"type": "email.send", "args": [1], "meta": {"a": 1}, "options": options});
    let id = sdk.post::<JobResponse>("/jobs", full).job.id;
    assert_eq!(sdk.get::<JobResponse>(&format!("/jobs/{id}")).job.state, "scheduled");
    assert_eq!(sdk.delete::<JobResponse>(&format!("/jobs/{id}")).job.state, "cancelled");

    let id = sdk.dead_letter_job();
    let list: Value = sdk.get("/dead-letter");
    assert!(list["jobs"].as_array().unwrap().iter().any(|job| job["id"] == id));
    let _: Value = sdk.call("POST", &format!("/dead-letter/{id}/retry"), None);
    let worker = "worker_5a8e5e0e-3d4f-4c58-9d43-6a4a5f4e7a10";
    let ask = json!({"queues": [sdk.queue], "count": 10, "worker_id": worker, "visibility_timeout_ms": 30000});
    let fetched: Value = sdk.post("/workers/fetch", ask);
    let _: Job = serde_json::from_value(fetched["jobs"][0].clone()).unwrap();
    let beat = json!({
        "worker_id": worker, "state": "running", "active_jobs": 1, "active_job_ids": [id], "hostname": "unknown",
        "pid": 1, "queues": [sdk.queue], "concurrency": 10, "labels": [],
    });
    assert_eq!(sdk.post::<Value>("/workers/heartbeat", beat)["state"], "running");
    let _: Value = sdk.post("/workers/ack", json!({"job_id": id, "result": {"sent": true}}));
    let done = sdk.get::<JobResponse>(&format!("/jobs/{id}")).job;
    assert_eq!(done.result, Some(json!({"sent": true})));
}

#[test]
fn queues_schedules_and_the_rest() {
    let sdk = Sdk::new(HEADERS);
    let job = json!({"type": "email.send", "args": [], "options": {"queue": sdk.queue}});
    let _: Value = sdk.post("/jobs/batch", json!({"jobs": [job]}));
    let stats: QueueStats = sdk.get(&format!("/queues/{}/stats", sdk.queue));
    assert_eq!((stats.name, stats.available, stats.paused), (sdk.queue.clone(), 1, false));
    let _: Value = sdk.call("POST", &format!("/queues/{}/pause", sdk.queue), None);
    assert!(sdk.get::<QueueStats>(&format!("/queues/{}/stats", sdk.queue)).paused);

    let cron = json!({
        "name": sdk.queue, "cron": "*/5 * * * *", "timezone": "UTC", "type": "email.send", "args": [{"a": 1}],
        "meta": {"x": 1}, "options": {"queue": sdk.queue, "priority": 2, "retry": {"max_attempts": 2}, "tags": ["t"]},
    });
    assert_eq!(sdk.post::<CronResponse>("/cron", cron).cron_job.name, sdk.queue);
    let list: CronList = sdk.get("/cron?page=1&per_page=50");
    assert!(list.cron_jobs.iter().any(|cron| cron.name == sdk.queue));
    assert_eq!((list.pagination.page, list.pagination.per_page), (Some(1), Some(50)));
    assert!(list.pagination.total.is_some());
    let _: Value = sdk.delete(&format!("/cron/{}", sdk.queue));

    let health: Value = sdk.get("/health");
    assert!(health["status"] == "ok" && health["version"].is_string(), "{health}");
    for (method, path) in UNSERVED {
        let _: Value = sdk.refused(method, path, json!({}));
    }
    // Its durable jobs have the prefix twice.
    let _: Value = sdk.refused("POST", "/ojs/v1/checkpoints/x", json!({}));
    let _: Value = sdk.refused("GET", "/ojs/v1/checkpoints/x/resume", json!({}));
}
