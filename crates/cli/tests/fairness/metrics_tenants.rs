//! Every metric that speaks of jobs tells whose they are.

use serde_json::json;

use crate::api::{
    bound, caller, enqueue_many, fetch, of, of_with, put_pool, put_tenant, start, try_batch,
};
use crate::shorthand::{ack, boom, ids, nack};
use crate::support::{Server, in_one_minute};
use crate::watch::{await_metric, metric};

/// The metric has this value for the tenant, in the queue.
#[track_caller]
fn has(server: &Server, name: &str, (tenant, queue): (&str, &str), value: f64) {
    await_metric(server, name, &[("tenant_id", tenant), ("queue", queue)], value);
}

#[test]
fn each_end_of_a_job_is_counted_for_its_tenant_and_the_sum_is_the_queues() {
    let server = start(&[]);
    let once = json!({"retry": {"max_attempts": 1}});
    let sent = enqueue_many(&server, &of_with("acme", "q", once), 4);
    let later = json!({"retry": {"initial_interval": "PT1H"}});
    let other = enqueue_many(&server, &of_with("beta", "q", later), 3);
    assert_eq!(ids(&caller(&server, "acme").fetch("q", 2)), sent[..2]);
    ack(&server, &sent[0]);
    nack(&server, &sent[1], boom());
    server.delete(&format!("/ojs/v1/jobs/{}", sent[2])).expect(200);
    assert_eq!(ids(&caller(&server, "beta").fetch("q", 2)), other[..2]);
    nack(&server, &other[0], boom());
    for (name, of_acme, of_beta) in [
        ("ojs_job_completed_total", 1.0, 0.0),
        ("ojs_job_failed_total", 1.0, 0.0),
        ("ojs_job_cancelled_total", 1.0, 0.0),
        ("ojs_job_retried_total", 0.0, 1.0),
        ("ojs_workers_busy", 0.0, 1.0),
        ("ojs_scheduling_dispatch_total", 2.0, 2.0),
    ] {
        has(&server, name, ("acme", "q"), of_acme);
        has(&server, name, ("beta", "q"), of_beta);
        await_metric(&server, name, &[("queue", "q")], of_acme + of_beta);
    }
    for name in ["ojs_job_queue_time_count", "ojs_scheduling_queue_wait_duration_count"] {
        has(&server, name, ("acme", "q"), 2.0);
        await_metric(&server, name, &[("queue", "q")], 4.0);
    }
    has(&server, "ojs_job_duration_count", ("acme", "q"), 1.0);
    let none = metric(&server, "ojs_job_duration_count", &[("tenant_id", "beta")]);
    assert_eq!(none, None, "there is no histogram of nothing");
    for (state, jobs) in [("available", 1.0), ("retryable", 1.0), ("active", 1.0)] {
        let labels = [("tenant_id", "beta"), ("queue", "q"), ("state", state)];
        await_metric(&server, "ojs_queue_depth", &labels, jobs);
    }
    let bytes = |labels: &[_]| metric(&server, "ojs_queue_size_bytes", labels).unwrap();
    let of_tenant = |tenant| bytes(&[("tenant_id", tenant), ("queue", "q")]);
    assert!(of_tenant("acme") > 0.0 && of_tenant("beta") > 0.0);
}

#[test]
fn what_a_full_queue_does_is_counted_for_whom_it_hits() {
    let server = start(&[]);
    bound(&server, "full", json!({"max_depth": 2}));
    bound(&server, "fresh", json!({"max_depth": 2, "strategy": "drop_oldest"}));
    enqueue_many(&server, &of("acme", "full"), 2);
    try_batch(&server, &[of("beta", "full")]).expect(429);
    enqueue_many(&server, &of("acme", "fresh"), 2);
    enqueue_many(&server, &of("beta", "fresh"), 1);
    has(&server, "ojs_backpressure_rejected_total", ("beta", "full"), 1.0);
    has(&server, "ojs_backpressure_rejected_total", ("acme", "full"), 0.0);
    has(&server, "ojs_backpressure_dropped_total", ("acme", "fresh"), 1.0);
    has(&server, "ojs_backpressure_dropped_total", ("beta", "fresh"), 0.0);
    has(&server, "ojs_job_failed_total", ("acme", "fresh"), 1.0);
    let elsewhere = [("tenant_id", "beta"), ("queue", "full")];
    let pressure = metric(&server, "ojs_backpressure_pressure", &elsewhere);
    assert_eq!(pressure, None, "a queue is full for everyone");
}

#[test]
fn a_job_that_is_too_late_is_counted_for_its_tenant() {
    let server = start(&[]);
    let soon = json!({"expires_at": "+PT0.05S"});
    enqueue_many(&server, &of_with("acme", "q", soon), 1);
    enqueue_many(&server, &of("beta", "q"), 1);
    has(&server, "ojs_job_expired_total", ("acme", "q"), 1.0);
    has(&server, "ojs_job_expired_total", ("beta", "q"), 0.0);
}

#[test]
fn dispatches_are_counted_by_pool_and_tenant() {
    let server = start(&[]);
    put_pool(&server, "general", json!({"queues": ["q"], "concurrency": 8}));
    for tenant in ["acme", "beta"] {
        enqueue_many(&server, &of(tenant, "q"), 2);
    }
    let ask = json!({"queues": ["q"], "pool": "general", "worker_id": "w1", "count": 3});
    assert_eq!(fetch(&server, ask).len(), 3);
    assert_eq!(server.fetch("q", 1).len(), 1);
    let all = |labels: &[_], jobs| {
        await_metric(&server, "ojs_scheduling_dispatch_total", labels, jobs);
    };
    all(&[("tenant_id", "acme"), ("pool", "general")], 2.0);
    all(&[("tenant_id", "beta"), ("pool", "general")], 1.0);
    all(&[("tenant_id", "beta"), ("pool", "")], 1.0);
    server.delete("/ojs/v1/admin/pools/general").expect(200);
    std::thread::sleep(std::time::Duration::from_millis(1_050));
    all(&[("tenant_id", "acme"), ("pool", "general")], 2.0);
}

#[test]
fn a_limit_of_each_tenant_is_shown_for_each_and_one_of_all_is_not() {
    let server = start(&[]);
    let limit = |key: &str, scope: &str| json!({"rate_limit": {"key": key, "concurrency": 1, "scope": scope}});
    enqueue_many(&server, &of_with("acme", "q", limit("own", "tenant")), 3);
    enqueue_many(&server, &of_with("beta", "q", limit("own", "tenant")), 2);
    enqueue_many(&server, &of_with("beta", "q", limit("all", "global")), 2);
    assert_eq!(server.fetch("q", 9).len(), 3);
    let of = |key, tenant, jobs| {
        let labels = [("key", key), ("tenant_id", tenant)];
        await_metric(&server, "ojs_rate_limit_waiting", &labels, jobs);
        await_metric(&server, "ojs_rate_limit_active", &labels, 1.0);
    };
    of("own", "acme", 2.0);
    of("own", "beta", 1.0);
    await_metric(&server, "ojs_rate_limit_waiting", &[("key", "all")], 1.0);
    let labels = [("key", "all"), ("tenant_id", "beta")];
    assert_eq!(metric(&server, "ojs_rate_limit_waiting", &labels), None);
}

#[test]
fn what_lives_is_counted_again_after_a_restart() {
    let mut server = start(&[("ROTA_METRICS_LABELS", "1")]);
    let later = json!({"scheduled_at": "2099-01-01T00:00:00Z"});
    enqueue_many(&server, &of("acme", "q"), 3);
    enqueue_many(&server, &of_with("acme", "q", later), 2);
    enqueue_many(&server, &of("beta", "q"), 4);
    enqueue_many(&server, &of("zeta", "q"), 1);
    assert_eq!(caller(&server, "acme").fetch("q", 1).len(), 1);
    let figures = |server: &Server| {
        for (tenant, state, jobs) in [
            ("acme", "available", 2.0),
            ("acme", "active", 1.0),
            ("acme", "scheduled", 2.0),
            ("_other", "available", 5.0),
            ("_other", "active", 0.0),
        ] {
            let labels = [("tenant_id", tenant), ("queue", "q"), ("state", state)];
            await_metric(server, "ojs_queue_depth", &labels, jobs);
        }
        has(server, "ojs_tenant_queue_depth", ("acme", "q"), 4.0);
        has(server, "ojs_tenant_jobs_active", ("acme", "q"), 1.0);
        ["acme", "_other"]
            .map(|tenant| metric(server, "ojs_queue_size_bytes", &[("tenant_id", tenant)]).unwrap())
    };
    let before = figures(&server);
    server.restart();
    assert_eq!(figures(&server), before);
    await_metric(&server, "ojs_job_enqueued_total", &[("queue", "q")], 0.0);
}

#[test]
fn shares_of_the_last_minute_outlive_a_restart() {
    let share = in_one_minute(|| {
        let mut server = start(&[]);
        enqueue_many(&server, &of("acme", "q"), 2);
        assert_eq!(fetch(&server, json!({"queues": ["q"]})).len(), 1);
        server.restart();
        metric(&server, "ojs_tenant_fairness_share", &[("tenant_id", "acme")])
    });
    assert_eq!(share, Some(1.0));
}

#[test]
fn a_tenant_that_comes_back_has_its_label_again() {
    let server =
        start(&[("ROTA_METRICS_LABELS", "1"), ("ROTA_TENANTS", r#"{"named":{"weight":2}}"#)]);
    enqueue_many(&server, &of("acme", "q"), 1);
    enqueue_many(&server, &of("named", "q"), 2);
    has(&server, "ojs_job_enqueued_total", ("_other", "q"), 1.0);
    has(&server, "ojs_job_enqueued_total", ("named", "q"), 2.0);
    put_tenant(&server, "named", json!({"fairness_weight": 3}));
    let purge = "/ojs/v1/admin/tenants/named?purge=true&confirm=true";
    server.delete(purge).expect(200);
    enqueue_many(&server, &of("named", "q"), 1);
    has(&server, "ojs_job_enqueued_total", ("named", "q"), 3.0);
    has(&server, "ojs_queue_depth", ("named", "q"), 1.0);
}
