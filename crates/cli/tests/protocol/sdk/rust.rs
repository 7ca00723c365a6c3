//! The Rust SDK. Its types are serde's: what is not optional must be there, and null is no number.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Sdk, UNSERVED};

const HEADERS: &[(&str, &str)] = &[
    ("Content-Type", "application/openjobspec+json"),
    ("Accept", "application/openjobspec+json"),
    ("OJS-Version", "1.0"),
    ("X-Request-ID", "5a8e5e0e-3d4f-4c58-9d43-6a4a5f4e7a10"),
];

#[derive(Deserialize)]
struct EnqueueResponse {
    job: Job,
}

#[derive(Deserialize)]
struct BatchResponse {
    jobs: Vec<Job>,
    count: usize,
}

/// Answers with one job are decoded to this at the top level, except that of an enqueue.
#[derive(Deserialize)]
struct Job {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    queue: String,
    #[serde(default)]
    args: Value,
    meta: Option<Map<String, Value>>,
    #[serde(default)]
    priority: i32,
    timeout: Option<u64>,
    retry: Option<RetryPolicy>,
    state: Option<State>,
    #[serde(default)]
    attempt: u32,
    max_attempts: Option<u32>,
    error: Option<JobError>,
    result: Option<Value>,
    #[serde(default)]
    tags: Vec<String>,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(rename_all = "snake_case")]
enum State {
    Pending,
    Scheduled,
    Available,
    Active,
    Completed,
    Retryable,
    Cancelled,
    Discarded,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct RetryPolicy {
    max_attempts: u32,
    initial_interval: String,
    backoff_coefficient: f64,
    max_interval: String,
    jitter: bool,
    non_retryable_errors: Vec<String>,
}

#[derive(Deserialize)]
struct JobError {
    #[serde(rename = "type")]
    kind: String,
    message: String,
    backtrace: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct DeadLetter {
    jobs: Vec<Job>,
    pagination: Option<Pagination>,
}

#[derive(Deserialize)]
struct Pagination {
    total: u64,
    limit: u64,
    offset: u64,
    has_more: bool,
}

#[derive(Deserialize)]
struct Queues {
    queues: Vec<Queue>,
}

#[derive(Deserialize)]
struct Queue {
    name: String,
    status: Option<String>,
    created_at: Option<String>,
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
    available: u64,
    completed_last_hour: u64,
    failed_last_hour: u64,
    avg_duration_ms: f64,
    avg_wait_ms: f64,
    throughput_per_second: f64,
}

#[derive(Deserialize)]
struct CronJobs {
    cron_jobs: Vec<CronJob>,
}

/// The answer to a registration is decoded to this at the top level.
#[derive(Deserialize)]
struct CronJob {
    name: String,
    cron: String,
    timezone: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    args: Value,
    meta: Option<Map<String, Value>>,
    overlap_policy: Overlap,
    enabled: bool,
    description: Option<String>,
    run_count: Option<u64>,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(rename_all = "snake_case")]
enum Overlap {
    Skip,
    Allow,
    CancelPrevious,
    Enqueue,
}

#[derive(Deserialize)]
struct HeartbeatResponse {
    state: String,
    jobs_extended: Option<Vec<String>>,
    server_time: Option<String>,
}

#[derive(Deserialize)]
struct Manifest {
    ojs_version: String,
    implementation: Implementation,
    conformance_level: u8,
    protocols: Vec<String>,
    backend: String,
    capabilities: Map<String, Value>,
    extensions: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Implementation {
    name: String,
    version: String,
    language: String,
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
    request_id: Option<String>,
}

#[test]
fn jobs() {
    let sdk = Sdk::new(HEADERS);
    let options = json!({
        "queue": sdk.queue, "priority": 5, "timeout_ms": 5000, "delay_until": "2099-01-01T00:00:00.123456789Z",
        "expires_at": "2099-01-02T00:00:00Z", "tags": ["a"], "visibility_timeout_ms": 9000,
        "retry": {"max_attempts": 4, "initial_interval": "PT1S", "backoff_coefficient": 2.0, "max_interval": "PT5M",
            "jitter": true, "non_retryable_errors": [], "on_exhaustion": "dead_letter"},
    });
    let full = json!({"type": "email.send", "args": [1], "meta": {"k": "v"}, "schema": "urn:x", "options": options});
    let job = sdk.post::<EnqueueResponse>("/jobs", full).job;
    let batch: BatchResponse =
        sdk.post("/jobs/batch", json!({"jobs": [{"type": "a.b", "args": [{"a": 1}]}]}));
    assert_eq!((batch.jobs.len(), batch.count), (1, 1));
    let path = format!("/jobs/{}", job.id);
    assert_eq!(sdk.get::<Job>(&path).state, Some(State::Scheduled));
    assert_eq!(sdk.delete::<Job>(&path).state, Some(State::Cancelled));
}

#[test]
fn a_worker() {
    let sdk = Sdk::new(HEADERS);
    let id = sdk.dead_letter_job();
    assert_eq!(sdk.get::<Job>(&format!("/jobs/{id}")).error.unwrap().kind, "handler_error");
    let list: DeadLetter = sdk.get(&format!("/dead-letter?queue={}&limit=10&offset=0", sdk.queue));
    assert_eq!((list.jobs.len(), list.pagination.unwrap().total), (1, 1));
    let everywhere: DeadLetter = sdk.get("/dead-letter?queue=&limit=10&offset=0");
    assert!(everywhere.pagination.is_some());
    let retried: Job = sdk.call("POST", &format!("/dead-letter/{id}/retry"), None);
    assert_eq!((retried.id, retried.state), (id.clone(), Some(State::Available)));

    let worker = "worker_01970000-0000-7000-8000-000000000000";
    let fetched: Value = sdk
        .post("/workers/fetch", json!({"queues": [sdk.queue], "count": 10, "worker_id": worker}));
    let _: Job = serde_json::from_value(fetched["jobs"][0].clone()).unwrap();
    let beat: HeartbeatResponse =
        sdk.post("/workers/heartbeat", json!({"worker_id": worker, "active_jobs": [id]}));
    assert_eq!((&*beat.state, beat.jobs_extended), ("running", Some(vec![id.clone()])));
    assert!(beat.server_time.is_some());
    let _: Value = sdk.post("/workers/ack", json!({"job_id": id, "result": "any value"}));
    assert_eq!(sdk.get::<Job>(&format!("/jobs/{id}")).result, Some(json!("any value")));
}

#[test]
fn queues_schedules_and_the_rest() {
    let sdk = Sdk::new(HEADERS);
    let job = json!({"type": "email.send", "args": [], "options": {"queue": sdk.queue}});
    let _: EnqueueResponse = sdk.post("/jobs", job.clone());
    let _: Queues = sdk.get("/queues");
    let stats: QueueStats = sdk.get(&format!("/queues/{}/stats", sdk.queue));
    assert_eq!((stats.queue, stats.stats.available), (sdk.queue.clone(), 1));

    let cron = json!({
        "name": sdk.queue, "cron": "*/5 * * * *", "timezone": "UTC", "type": "email.send", "args": [1],
        "meta": {"k": "v"}, "options": {"queue": sdk.queue, "priority": 2}, "overlap_policy": "cancel_previous",
        "enabled": true, "description": "d",
    });
    let registered: CronJob = sdk.post("/cron", cron);
    assert_eq!(
        (&*registered.cron, registered.overlap_policy),
        ("*/5 * * * *", Overlap::CancelPrevious)
    );
    assert!(sdk.get::<CronJobs>("/cron").cron_jobs.iter().any(|cron| cron.name == sdk.queue));
    let _: Value = sdk.delete(&format!("/cron/{}", sdk.queue));

    assert!(sdk.get::<Value>("/health")["uptime_seconds"].is_u64());
    let _: Manifest =
        serde_json::from_value(sdk.send("GET", "/ojs/manifest", None).expect(200)).unwrap();
    for (method, path) in UNSERVED {
        let _: ErrorResponse = sdk.refused(method, path, json!({}));
    }
    let mut unique = job;
    unique["options"]["unique"] =
        json!({"keys": ["type"], "states": ["available"], "on_conflict": "reject"});
    let _: ErrorResponse = sdk.refused("POST", "/jobs", unique);
}
