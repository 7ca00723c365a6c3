//! The Python SDK. It reads an answer only if its content type contains `application/json`, and a job's
//! times with `datetime.fromisoformat`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Sdk, UNSERVED};

const HEADERS: &[(&str, &str)] = &[
    ("User-Agent", "python-httpx/0.28.1"),
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
    id: String,
    #[serde(rename = "type")]
    kind: String,
    state: String,
    args: Vec<Value>,
    queue: String,
    meta: Map<String, Value>,
    priority: i64,
    attempt: i64,
    max_attempts: i64,
    retry: Option<Map<String, Value>>,
    created_at: String,
    enqueued_at: String,
    #[serde(default)]
    errors: Vec<Map<String, Value>>,
    result: Option<Value>,
}

#[derive(Deserialize)]
struct QueueStats {
    queue: String,
    status: String,
    stats: Map<String, Value>,
    computed_at: String,
}

#[test]
fn it_can_read_every_answer_and_nobody_else_gets_its_content_type() {
    let sdk = Sdk::new(HEADERS);
    let bent = "application/openjobspec+json; alias=\"application/json\"";
    let content_type = |method, path, body| {
        let reply = sdk.send(method, path, body);
        reply.header("content-type").map(str::to_owned)
    };
    let job = json!({"type": "email.send", "args": []});
    for (method, path, body) in [
        ("GET", "/ojs/v1/health", None),
        ("GET", "/ojs/manifest", None),
        ("POST", "/ojs/v1/jobs", Some(job.clone())),
        ("POST", "/ojs/v1/workers/fetch", Some(json!({"queues": [sdk.queue]}))),
        ("GET", "/ojs/v1/jobs/x", None),
    ] {
        assert_eq!(content_type(method, path, body).as_deref(), Some(bent), "{method} {path}");
    }
    let plain = "application/openjobspec+json";
    let httpx = ("User-Agent", "python-httpx/0.28.1");
    let sdk_accept = ("Accept", plain);
    for headers in [
        &[sdk_accept][..],
        &[httpx, ("Accept", "*/*")],
        &[httpx, ("Accept", "application/json")],
        &[("User-Agent", "curl/8"), sdk_accept],
        &[("User-Agent", "my python-httpx/1"), sdk_accept],
    ] {
        let reply = sdk.server.send("GET", "/ojs/v1/health", headers, None);
        assert_eq!(reply.header("content-type"), Some(plain), "{headers:?}");
    }
}

#[test]
fn jobs_and_a_worker() {
    let sdk = Sdk::new(HEADERS);
    let options = json!({
        "queue": sdk.queue, "priority": 5, "timeout_ms": 5000, "delay_until": "2099-01-01T00:00:00Z",
        "expires_at": "2099-01-02T00:00:00Z", "tags": ["a"],
        "retry": {"max_attempts": 5, "initial_interval": "PT2S", "backoff_coefficient": 3.0, "max_interval": "PT5M",
            "jitter": true, "non_retryable_errors": []},
    });
    let full = json!({"type": "email.send", "args": ["a"], "meta": {"k": "v"}, "options": options});
    let job = sdk.post::<JobResponse>("/jobs", full).job;
    assert_eq!(job.retry.unwrap()["max_attempts"], 5);
    assert_eq!(sdk.get::<JobResponse>(&format!("/jobs/{}", job.id)).job.state, "scheduled");
    assert_eq!(sdk.delete::<JobResponse>(&format!("/jobs/{}", job.id)).job.state, "cancelled");

    let id = sdk.dead_letter_job();
    let failed = sdk.get::<JobResponse>(&format!("/jobs/{id}")).job;
    assert_eq!((failed.errors.len(), &*failed.state), (1, "discarded"));
    let list: Value = sdk.get(&format!("/dead-letter?limit=50&offset=0&queue={}", sdk.queue));
    assert_eq!((list["jobs"][0]["id"] == id, list["pagination"]["total"] == 1), (true, true));
    assert_eq!(
        sdk.call::<JobResponse>("POST", &format!("/dead-letter/{id}/retry"), None).job.id,
        id
    );
    let ask = json!({"queues": [sdk.queue], "count": 1, "visibility_timeout_ms": 30000, "worker_id": "worker_0a"});
    let fetched: Value = sdk.post("/workers/fetch", ask);
    let _: Job = serde_json::from_value(fetched["jobs"][0].clone()).unwrap();
    let beat =
        json!({"worker_id": "worker_0a", "active_jobs": [id], "visibility_timeout_ms": 30000});
    assert_eq!(sdk.post::<Value>("/workers/heartbeat", beat)["state"], "running");
    let _: Value = sdk.post("/workers/ack", json!({"job_id": id, "result": {"echo": [1]}}));
    let done = sdk.get::<JobResponse>(&format!("/jobs/{id}")).job;
    assert_eq!(done.result, Some(json!({"echo": [1]})));
}

#[test]
fn queues_schedules_and_the_rest() {
    let sdk = Sdk::new(HEADERS);
    let _: JobResponse = sdk
        .post("/jobs", json!({"type": "email.send", "args": [], "options": {"queue": sdk.queue}}));
    let stats: QueueStats = sdk.get(&format!("/queues/{}/stats", sdk.queue));
    assert_eq!((stats.queue, &stats.stats["available"]), (sdk.queue.clone(), &json!(1)));
    let cron = json!({
        "name": sdk.queue, "cron": "*/5 * * * *", "type": "email.send", "args": ["a"], "timezone": "Europe/Berlin",
        "meta": {"a": 1}, "options": {"queue": sdk.queue, "priority": 3, "retry": {"max_attempts": 2}, "tags": ["t"]},
    });
    let _: Value = sdk.post("/cron", cron);
    let list: Value = sdk.get("/cron?limit=50&offset=0");
    assert!(list["cron_jobs"].is_array() && list["pagination"].is_object(), "{list}");
    let _: Value = sdk.delete(&format!("/cron/{}", sdk.queue));
    for (method, path) in UNSERVED {
        let _: Value = sdk.refused(method, path, json!({}));
    }
    let _: Value = sdk.refused("GET", "/schemas?limit=50&offset=0", json!({}));
    let _: Value = sdk.refused("GET", "/jobs/x/progress", json!({}));
}
