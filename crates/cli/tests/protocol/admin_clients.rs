//! Every call of ojs-cli and ojs-admin-ui is served, or refused by the name of what is missing.

use serde_json::json;

use crate::shorthand::{ack, boom, job_on, job_with, nack, register, take};
use crate::support::{JSON, Server};

/// What ojs-cli asks for, by its commands; `ID` is a job's id, and `DEAD` that of one in the dead letter.
const CLI: &[&str] = &[
    "GET /health",
    "GET /admin/stats",
    "GET /admin/stats?queue=q",
    "GET /admin/stats?detail=true&limit=10",
    "GET /admin/stats/history?period=1h",
    "GET /admin/stats/history?period=5m&since=24h&queue=q",
    "GET /jobs?limit=20&state=available&queue=q&type=test.job",
    "GET /jobs?state=discarded&limit=20",
    "GET /jobs/ID",
    "GET /jobs/ID/result",
    "GET /jobs/ID/retries",
    "GET /admin/jobs/ID",
    "GET /admin/jobs/ID/trace",
    "GET /admin/jobs?limit=10000&exclude_terminal=true",
    "GET /events/ID/history",
    "GET /admin/observability/health",
    "GET /queues",
    "GET /queues/q",
    "GET /queues/q/stats",
    "GET /dead-letter?limit=25",
    "GET /dead-letter/stats",
    "GET /cron",
    "GET /cron?enabled=true",
    "GET /cron/c",
    "GET /cron/c/history?limit=10",
    "GET /rate-limits",
    "GET /metrics",
    "GET /metrics?format=prometheus",
    "GET /admin/workers",
    "GET /admin/workers/w",
    "GET /admin/maintenance",
    "GET /admin/config",
    "GET /webhooks/subscriptions?limit=25",
    "GET /webhooks/subscriptions/s",
    "GET /workflows?limit=25&state=running",
    "GET /workflows/f",
    "POST /queues/q/pause",
    "POST /queues/q/resume",
    "POST /queues/q/purge",
    "POST /admin/jobs/DEAD/retry",
    "POST /admin/workers/w/quiet",
    "POST /admin/workers/directive",
    "POST /cron/c/trigger",
    "POST /cron/c/pause",
    "POST /cron/c/resume",
    "POST /dead-letter/purge?older_than=30d",
    "POST /webhooks/subscriptions",
    "POST /webhooks/subscriptions/s/test",
    "POST /webhooks/subscriptions/s/rotate-secret",
    "POST /workflows",
    "DELETE /webhooks/subscriptions/s",
    "DELETE /workflows/f",
    "DELETE /cron/c",
    "DELETE /jobs/ID",
];

/// What the pages of ojs-admin-ui ask for. Its pages of the audit log, of attestation and of mirrors ask
/// for nothing.
const ADMIN_UI: &[&str] = &[
    "GET /admin/stats",
    "GET /admin/stats/history?period=5m&since=2026-01-01T00:00:00Z&until=2026-01-01T01:00:00Z",
    "GET /admin/stats/stream",
    "GET /admin/queues?page=1&per_page=25",
    "GET /admin/queues/q",
    "GET /admin/jobs?page=1&per_page=25&state=active&queue=q&type=test.job",
    "GET /admin/jobs/ID",
    "GET /admin/workers?page=1&per_page=25",
    "GET /admin/dead-letter?page=1&per_page=25",
    "GET /admin/dead-letter/stats",
    "GET /crons?page=1&per_page=25",
    "GET /crons/c",
    "GET /jobs/ID/progress",
    "GET /jobs/ID/progress/stream",
    "GET /jobs/ID/result",
    "GET /rate-limits?page=1&per_page=25",
    "GET /queues/q/priority-stats",
    "GET /events?page=1&per_page=25",
    "GET /unique-jobs?page=1&per_page=25",
    "GET /middleware",
    "GET /webhooks/subscriptions?page=1&per_page=25",
    "GET /workflows?page=1&per_page=25",
    "GET /workflows/f/progress",
    "GET /admin/tenants?page=1&per_page=25",
    "GET /admin/pools",
    "GET /admin/scheduling/stats",
    "GET /admin/schemas",
    "GET /admin/schemas/test.job",
    "GET /admin/system/maintenance",
    "POST /admin/queues/q/pause",
    "POST /admin/queues/q/resume",
    "POST /admin/dead-letter/DEAD/retry",
    "POST /admin/workers/w/quiet",
    "POST /workflows/f/cancel",
    "POST /admin/jobs/ID/cancel",
];

#[test]
fn each_call_is_served_or_refused_by_name() {
    for calls in [CLI, ADMIN_UI] {
        let server = Server::start();
        let cron = json!({"name": "c", "cron": "0 0 1 1 *", "type": "a.b"});
        server.post("/ojs/v1/cron", cron).expect(201);
        register(&server, "w", json!({}));
        let dead = server.enqueue(job_with("q", json!({"retry": {"max_attempts": 1}})));
        take(&server, "q");
        nack(&server, &dead, boom());
        let id = server.enqueue(job_on("q"));
        for call in calls {
            let (method, path) = call.split_once(' ').unwrap();
            let path = format!("/ojs/v1{}", path.replace("ID", &id).replace("DEAD", &dead));
            let reply = server.send(method, &path, &[JSON], None);
            match reply.status {
                200..300 => {}
                422 => drop(reply.expect_error(422, "unsupported")),
                // The job has not ended, so it has no result.
                409 if path.ends_with("/result") => {}
                status => panic!("{call}: {status} {}", reply.text),
            }
        }
    }
}

#[test]
fn ojs_clis_doctor_finds_a_healthy_server() {
    let server = Server::start();
    for path in ["/v1/health", "/v1/queues", "/v1/dead-letter", "/v1/workers", "/metrics"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    for (path, same) in [("/v1/queues", "/ojs/v1/queues"), ("/v1/workers", "/ojs/v1/admin/workers")]
    {
        assert_eq!(server.get(path).expect(200), server.get(same).expect(200));
    }
}

#[test]
fn statistics_of_one_queue_and_queue_by_queue() {
    let server = Server::start();
    let get = |query: &str| server.get(&format!("/ojs/v1/admin/stats?{query}"));
    (0..3).for_each(|_| drop(server.enqueue(job_on("deep"))));
    let id = server.enqueue(job_on("shallow"));
    take(&server, "shallow");
    ack(&server, &id);
    let one = get("queue=shallow").expect(200);
    assert_eq!((&one["queue"], &one["jobs"]["completed"]), (&json!("shallow"), &json!(1)));
    assert_eq!((&one["jobs"]["available"], &one["queues"]), (&json!(0), &json!(1)));
    assert!(one["throughput"]["enqueued_per_min"].is_u64(), "{one}");
    let all = get("detail=true&limit=10").expect(200);
    let names: Vec<_> = all["queues"].as_array().unwrap().iter().map(|q| &q["name"]).collect();
    assert_eq!(names, ["deep", "shallow"], "the deepest first");
    let deep = &all["queues"][0];
    assert_eq!((&deep["depth"], &deep["error_rate"]), (&json!(3), &json!(0.0)));
    assert!(deep["avg_duration_ms"].is_number(), "{deep}");
    assert_eq!((&all["queue_count"], &all["jobs"]["available"]), (&json!(2), &json!(3)));
    assert_eq!(get("detail=true&limit=1").expect(200)["queues"].as_array().unwrap().len(), 1);
    assert_eq!(get("detail=false").expect(200)["queues"], 2);
    get("limit=5").expect_error(400, "invalid_request");
    get("detail=perhaps").expect_error(400, "invalid_request");
    get("queue=nowhere").expect_error(404, "not_found");
    // A tenant gets its own figures.
    let headers = [("X-OJS-Tenant", "acme")];
    let path = "/ojs/v1/admin/stats?detail=true";
    let own = server.send("GET", path, &headers, None).expect(200);
    assert_eq!((&own["queues"], &own["queue_count"]), (&json!([]), &json!(0)));
    let path = "/ojs/v1/admin/stats?queue=deep";
    server.send("GET", path, &headers, None).expect_error(404, "not_found");
    // A queue in which nothing has run has numbers, too.
    let latency = &server.get("/ojs/v1/admin/queues/deep").expect(200)["latency_ms"];
    assert_eq!(*latency, json!({"p50": 0, "p95": 0, "p99": 0}));
}
