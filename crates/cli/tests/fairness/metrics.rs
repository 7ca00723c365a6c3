//! Every metric of the documents, with its labels.

use serde_json::json;

use crate::api::{bound, enqueue_many, fetch, limited, of_with, put_pool, start, try_batch};
use crate::shorthand::{ack, boom, eventually, ids, job_on, nack};
use crate::support::Server;
use crate::watch::{await_metric, fetch_patiently, metric};

#[track_caller]
fn at_least(server: &Server, name: &str, labels: &[(&str, &str)], least: f64) {
    let found = metric(server, name, labels);
    assert!(found.is_some_and(|value| value >= least), "{name}{labels:?} is {found:?}");
}

#[test]
fn tenants_have_metrics() {
    let server = start(&[]);
    let job = of_with("acme", "q", json!({"retry": {"max_attempts": 1}}));
    let sent = enqueue_many(&server, &job, 6);
    enqueue_many(&server, &of_with("beta", "q", json!({})), 2);
    // Its first job goes to a shared worker, which its share is counted by.
    let mut got = ids(&fetch(&server, json!({"queues": ["q"]})));
    got.extend(ids(&crate::api::caller(&server, "acme").fetch("q", 3)));
    assert_eq!(got, sent[..4]);
    ack(&server, &sent[0]);
    ack(&server, &sent[1]);
    nack(&server, &sent[2], boom());
    let acme = [("tenant_id", "acme"), ("queue", "q")];
    await_metric(&server, "ojs_tenant_jobs_active", &acme, 1.0);
    await_metric(&server, "ojs_tenant_jobs_enqueued_total", &acme, 6.0);
    at_least(&server, "ojs_tenant_jobs_processed_total", &acme, 2.0);
    await_metric(&server, "ojs_tenant_jobs_failed_total", &acme, 1.0);
    await_metric(&server, "ojs_tenant_queue_depth", &acme, 2.0);
    await_metric(&server, "ojs_tenant_queue_depth", &[("tenant_id", "beta"), ("queue", "q")], 2.0);
    let share = metric(&server, "ojs_tenant_fairness_share", &[("tenant_id", "acme")]);
    assert!(share.is_some_and(|share| share > 0.0 && share <= 1.0), "{share:?}");
}

#[test]
fn processed_is_the_same_in_statistics_history_and_metrics() {
    let server = start(&[]);
    let sent =
        enqueue_many(&server, &of_with("acme", "q", json!({"retry": {"max_attempts": 1}})), 3);
    assert_eq!(ids(&server.fetch("q", 3)), sent);
    ack(&server, &sent[0]);
    ack(&server, &sent[1]);
    nack(&server, &sent[2], boom());
    let acme = [("tenant_id", "acme"), ("queue", "q")];
    await_metric(&server, "ojs_tenant_jobs_processed_total", &acme, 3.0);
    let stats = server.get("/ojs/v1/admin/tenants/acme/stats").expect(200);
    assert_eq!(stats["throughput"]["processed_per_minute"], 3, "{stats}");
    let own = crate::api::caller(&server, "acme").get("/ojs/v1/admin/stats").expect(200);
    assert_eq!(own["throughput"]["processed_per_minute"], 3, "{own}");
    // A minute that has just ended is on its way to the history.
    eventually("all are in the history", || {
        let history = server.get("/ojs/v1/admin/stats/history?period=1m").expect(200);
        let points = history["data"].as_array().unwrap().iter();
        let processed: u64 = points.filter_map(|point| point["processed"].as_u64()).sum();
        let all = server.get("/ojs/v1/admin/stats").expect(200);
        let average = all["throughput"]["processed_per_minute"].as_f64().unwrap();
        (processed == 3 && average == 0.05).then_some(())
    });
}

#[test]
fn scheduling_has_metrics() {
    let server = start(&[]);
    put_pool(&server, "general", json!({"queues": ["a", "b"], "concurrency": 8}));
    for queue in ["a", "b"] {
        enqueue_many(&server, &job_on(queue), 2);
    }
    let ask = json!({"queues": ["a", "b"], "pool": "general", "worker_id": "w1", "count": 4});
    assert_eq!(fetch(&server, ask).len(), 4);
    let a = [("queue", "a"), ("pool", "general")];
    await_metric(&server, "ojs_scheduling_dispatch_total", &a, 2.0);
    await_metric(&server, "ojs_scheduling_dispatch_ratio", &[("queue", "a")], 0.5);
    await_metric(&server, "ojs_scheduling_queue_wait_duration_count", &[("queue", "a")], 2.0);
    at_least(&server, "ojs_scheduling_queue_wait_duration_sum", &[("queue", "a")], 0.0);
    await_metric(
        &server,
        "ojs_scheduling_queue_wait_duration_bucket",
        &[("queue", "a"), ("le", "+Inf")],
        2.0,
    );
    await_metric(&server, "ojs_scheduling_pool_utilization", &[("pool", "general")], 0.5);
    assert!(server.get("/metrics").text.contains("ojs_scheduling_starvation_events_total"));
}

#[test]
fn limits_have_metrics() {
    let server = start(&[]);
    let limit = json!({"key": "api", "concurrency": 1, "rate": {"limit": 100, "period": "PT1H"}});
    let sent = enqueue_many(&server, &limited("q", limit), 3);
    assert_eq!(server.fetch("q", 9).len(), 1);
    assert!(server.fetch("q", 9).is_empty());
    let key = [("key", "api")];
    await_metric(&server, "ojs_rate_limit_active", &key, 1.0);
    await_metric(&server, "ojs_rate_limit_waiting", &key, 2.0);
    let by_strategy = [("key", "api"), ("strategy", "concurrency")];
    at_least(&server, "ojs_rate_limit_exceeded_total", &by_strategy, 1.0);
    ack(&server, &sent[0]);
    fetch_patiently(&server, "q", 1);
    await_metric(&server, "ojs_rate_limit_waiting", &key, 1.0);
    at_least(&server, "ojs_rate_limit_wait_duration_count", &key, 1.0);
    at_least(&server, "ojs_rate_limit_wait_duration_sum", &key, 0.0);
}

#[test]
fn backpressure_has_metrics() {
    let server = start(&[]);
    bound(&server, "full", json!({"max_depth": 2}));
    bound(&server, "fresh", json!({"max_depth": 2, "strategy": "drop_oldest"}));
    enqueue_many(&server, &job_on("full"), 1);
    await_metric(&server, "ojs_backpressure_pressure", &[("queue", "full")], 0.5);
    enqueue_many(&server, &job_on("full"), 1);
    try_batch(&server, &[job_on("full")]).expect(429);
    (0..5).for_each(|_| drop(server.enqueue(job_on("fresh"))));
    await_metric(&server, "ojs_backpressure_rejected_total", &[("queue", "full")], 1.0);
    await_metric(&server, "ojs_backpressure_dropped_total", &[("queue", "fresh")], 3.0);
    await_metric(&server, "ojs_backpressure_pressure", &[("queue", "full")], 1.0);
}

#[test]
fn metrics_are_prometheus_text_in_both_places() {
    let server = start(&[]);
    server.enqueue(job_on("q"));
    for path in ["/metrics", "/ojs/v1/metrics"] {
        let reply = server.get(path);
        assert_eq!(reply.status, 200);
        assert!(reply.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")));
        for line in reply.text.lines().filter(|line| line.starts_with("# TYPE ")) {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(words.len(), 4, "{line}");
            assert!(["counter", "gauge", "histogram"].contains(&words[3]), "{line}");
            // The specification has one gauge with a counter's name.
            let is_total = words[2].ends_with("_total") && words[2] != "ojs_dead_letter_total";
            assert_eq!(words[3] == "counter", is_total, "{line}");
        }
        assert!(reply.text.contains("# TYPE "), "{path}");
    }
}
