//! The Go SDK. `encoding/json` refuses fractions and other types for an `int`, and takes null for anything.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Sdk, UNSERVED};

const HEADERS: &[(&str, &str)] = &[
    ("User-Agent", "Go-http-client/1.1"),
    ("Content-Type", "application/openjobspec+json"),
    ("Accept", "application/openjobspec+json"),
    ("OJS-Version", "1.0.0-rc.1"),
];

#[derive(Deserialize)]
struct JobResponse {
    job: Job,
}

#[derive(Deserialize)]
struct Jobs {
    jobs: Vec<Job>,
    pagination: Option<Pagination>,
    count: Option<i64>,
}

/// A member of another type would be an error, an absent one would be the zero value.
#[derive(Deserialize)]
struct Job {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    state: String,
    queue: String,
    priority: i64,
    attempt: i64,
    max_attempts: i64,
    timeout_ms: Option<i64>,
    tags: Option<Vec<String>>,
    meta: Option<Map<String, Value>>,
    result: Option<Map<String, Value>>,
    error: Option<JobError>,
    args: Vec<Value>,
    previous_state: Option<String>,
}

#[derive(Deserialize)]
struct JobError {
    code: String,
    message: String,
    retryable: bool,
    details: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Pagination {
    total: i64,
    limit: i64,
    offset: i64,
    has_more: bool,
}

#[derive(Deserialize)]
struct QueueStats {
    queue: String,
    status: String,
    stats: Figures,
    computed_at: String,
}

#[derive(Deserialize)]
struct Figures {
    available: i64,
    active: i64,
    scheduled: i64,
    retryable: i64,
    discarded: i64,
    completed_last_hour: i64,
    failed_last_hour: i64,
    avg_duration_ms: f64,
    avg_wait_ms: f64,
    throughput_per_second: f64,
}

#[derive(Deserialize)]
struct CronResponse {
    cron_job: CronJob,
}

#[derive(Deserialize)]
struct CronList {
    cron_jobs: Vec<CronJob>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct CronJob {
    name: String,
    cron: String,
    timezone: String,
    #[serde(rename = "type")]
    kind: String,
    args: Vec<Value>,
    options: Option<Map<String, Value>>,
    status: String,
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: ApiError,
}

#[derive(Deserialize)]
struct ApiError {
    code: String,
    message: String,
    retryable: bool,
    details: Option<Map<String, Value>>,
    request_id: String,
}

#[derive(Deserialize)]
struct Manifest {
    ojs_version: String,
    implementation: BTreeMap<String, String>,
    conformance_level: i64,
    protocols: Vec<String>,
    backend: String,
    capabilities: BTreeMap<String, bool>,
    extensions: Vec<String>,
    endpoints: BTreeMap<String, String>,
}

#[test]
fn jobs() {
    let sdk = Sdk::new(HEADERS);
    let options = json!({
        "queue": sdk.queue, "priority": 5, "timeout_ms": 5000, "tags": ["a"], "visibility_timeout_ms": 9000,
        "delay_until": "2099-01-01T10:00:00.123456789+02:00", "expires_at": "2099-01-02T00:00:00Z",
        "retry": {"max_attempts": 4, "initial_interval": "PT1S", "backoff_coefficient": 2, "max_interval": "PT1M", "jitter": true},
    });
    let full = json!({"type": "email.send", "args": [{"to": "a"}], "meta": {"k": "v"}, "options": options});
    let job = sdk.post::<JobResponse>("/jobs", full).job;
    assert_eq!((&*job.state, job.priority, job.max_attempts), ("scheduled", 5, 4));
    let short = json!({"type": "email.send", "args": [], "options": {"queue": sdk.queue}});
    let batch: Jobs = sdk.post("/jobs/batch", json!({"jobs": [short, short]}));
    assert_eq!((batch.jobs.len(), batch.count), (2, Some(2)));
    assert_eq!(sdk.get::<JobResponse>(&format!("/jobs/{}", job.id)).job.id, job.id);
    let cancelled = sdk.delete::<JobResponse>(&format!("/jobs/{}", job.id)).job;
    assert_eq!(
        (&*cancelled.state, cancelled.previous_state.as_deref()),
        ("cancelled", Some("scheduled"))
    );
}

#[test]
fn a_worker() {
    let sdk = Sdk::new(HEADERS);
    let id = sdk.dead_letter_job();
    let failed = sdk.get::<JobResponse>(&format!("/jobs/{id}")).job;
    assert_eq!(failed.error.unwrap().code, "handler_error");
    let list: Jobs = sdk.get(&format!("/dead-letter?limit=10&offset=0&queue={}", sdk.queue));
    let page = list.pagination.unwrap();
    assert_eq!((list.jobs.len(), page.total, page.limit, page.offset), (1, 1, 10, 0));
    assert!(!page.has_more);
    assert_eq!(
        sdk.call::<JobResponse>("POST", &format!("/dead-letter/{id}/retry"), None).job.id,
        id
    );

    let ask = json!({"queues": [sdk.queue], "count": 3, "worker_id": "worker_host_1_2"});
    let fetched: Jobs = sdk.post("/workers/fetch", ask);
    assert_eq!(fetched.jobs[0].state, "active");
    let beat = json!({"worker_id": "worker_host_1_2", "state": "running", "active_jobs": 1, "active_job_ids": [id]});
    assert_eq!(sdk.post::<Value>("/workers/heartbeat", beat)["state"], "running");
    let _: Value = sdk.post("/workers/ack", json!({"job_id": id, "result": {"sent": true}}));
    let done = sdk.get::<JobResponse>(&format!("/jobs/{id}")).job;
    assert_eq!((&*done.state, done.result.unwrap()["sent"] == true), ("completed", true));

    let id = sdk.dead_letter_job();
    let _: Value = sdk.delete(&format!("/dead-letter/{id}"));
}

#[test]
fn queues_schedules_and_the_rest() {
    let sdk = Sdk::new(HEADERS);
    let job = json!({"type": "email.send", "args": [], "options": {"queue": sdk.queue}});
    let _: JobResponse = sdk.post("/jobs", job.clone());
    let _: Value = sdk.get("/queues");
    let stats: QueueStats = sdk.get(&format!("/queues/{}/stats", sdk.queue));
    assert_eq!((stats.queue, stats.stats.available), (sdk.queue.clone(), 1));
    let _: Value = sdk.call("POST", &format!("/queues/{}/pause", sdk.queue), None);
    let _: Value = sdk.call("POST", &format!("/queues/{}/resume", sdk.queue), None);

    let cron = json!({
        "name": sdk.queue, "cron": "*/5 * * * *", "timezone": "UTC", "type": "email.send", "args": [{"a": 1}],
        "meta": {"k": 1}, "options": {"queue": sdk.queue},
    });
    assert_eq!(sdk.post::<CronResponse>("/cron", cron).cron_job.cron, "*/5 * * * *");
    assert!(sdk.get::<CronList>("/cron").cron_jobs.iter().any(|cron| cron.name == sdk.queue));
    let _: Value = sdk.delete(&format!("/cron/{}", sdk.queue));

    let health: Value = sdk.get("/health");
    assert!(
        health["uptime_seconds"].is_u64() && health["backend"]["latency_ms"].is_u64(),
        "{health}"
    );
    let _: Manifest =
        serde_json::from_value(sdk.send("GET", "/ojs/manifest", None).expect(200)).unwrap();
    for (method, path) in UNSERVED {
        let _: ErrorResponse = sdk.refused(method, path, json!({}));
    }
    let mut unique = job;
    unique["options"]["unique"] = json!({"key": ["a"]});
    let _: ErrorResponse = sdk.refused("POST", "/jobs", unique);
}
