//! Labels whose values come from outside are bounded.

use serde_json::json;

use crate::api::{bound, enqueue_many, limited, of, start};
use crate::support::Server;
use crate::watch::{await_metric, metric};

#[test]
fn the_first_tenants_have_their_own_label_and_keep_it() {
    let server = start(&[("ROTA_METRICS_LABELS", "2")]);
    for tenant in ["acme", "beta"] {
        enqueue_many(&server, &of(tenant, "q"), 1);
    }
    let depth = |tenant: &str, jobs: f64| {
        let labels = [("tenant_id", tenant), ("queue", "q")];
        await_metric(&server, "ojs_tenant_queue_depth", &labels, jobs);
    };
    depth("acme", 1.0);
    for tenant in ["aaa", "zeta"] {
        enqueue_many(&server, &of(tenant, "q"), 3);
    }
    depth("_other", 6.0);
    depth("acme", 1.0);
    depth("beta", 1.0);
    let own = metric(&server, "ojs_tenant_queue_depth", &[("tenant_id", "aaa")]);
    assert_eq!(own, None);
}

#[test]
fn the_first_queues_have_their_own_label_and_keep_it() {
    let mut server = start(&[("ROTA_METRICS_QUEUES", "10")]);
    let depth = |server: &Server, queue: &str| {
        metric(server, "ojs_tenant_queue_depth", &[("tenant_id", "acme"), ("queue", queue)])
    };
    for number in 0..12 {
        enqueue_many(&server, &of("acme", &format!("q{number}")), 1);
    }
    let labels = [("tenant_id", "acme"), ("queue", "_other")];
    await_metric(&server, "ojs_tenant_queue_depth", &labels, 7.0);
    assert_eq!((depth(&server, "q4"), depth(&server, "q5")), (Some(1.0), None));
    // Others have labels too.
    enqueue_many(&server, &of("beta", "theirs"), 1);
    let labels = [("tenant_id", "beta"), ("queue", "theirs")];
    await_metric(&server, "ojs_tenant_queue_depth", &labels, 1.0);
    // One that an operator configures before it has jobs has a label, also after a restart.
    bound(&server, "mine", json!({"max_depth": 10}));
    enqueue_many(&server, &of("acme", "mine"), 2);
    for _ in 0..2 {
        let labels = [("tenant_id", "acme"), ("queue", "mine")];
        await_metric(&server, "ojs_tenant_queue_depth", &labels, 2.0);
        assert_eq!(metric(&server, "ojs_backpressure_pressure", &[("queue", "mine")]), Some(0.2));
        assert_eq!(depth(&server, "_other"), Some(7.0));
        assert_eq!(metric(&server, "ojs_scheduling_dispatch_ratio", &[("queue", "q9")]), None);
        server.restart();
    }
}

#[test]
fn keys_beyond_the_bound_are_counted_together() {
    let server = start(&[("ROTA_METRICS_LABELS", "1")]);
    let busy = |key: &str| {
        enqueue_many(&server, &limited("q", json!({"key": key, "concurrency": 1})), 3);
        server.fetch("q", 9);
    };
    busy("first");
    await_metric(&server, "ojs_rate_limit_waiting", &[("key", "first")], 2.0);
    ["a", "b"].iter().for_each(|key| busy(key));
    await_metric(&server, "ojs_rate_limit_waiting", &[("key", "_other")], 4.0);
    await_metric(&server, "ojs_rate_limit_active", &[("key", "first")], 1.0);
}

#[test]
fn one_tenants_keys_leave_labels_to_others() {
    let server = start(&[("ROTA_METRICS_LABELS", "20")]);
    let busy = |tenant: &str, key: &str| {
        let mut job = of(tenant, "q");
        job["rate_limit"] = json!({"key": key, "concurrency": 1});
        enqueue_many(&server, &job, 2);
        server.fetch("q", 9);
    };
    for number in 10..40 {
        busy("greedy", &format!("k{number}"));
    }
    await_metric(&server, "ojs_rate_limit_waiting", &[("key", "k19")], 1.0);
    await_metric(&server, "ojs_rate_limit_waiting", &[("key", "_other")], 20.0);
    busy("beta", "zz");
    await_metric(&server, "ojs_rate_limit_waiting", &[("key", "zz")], 1.0);
    await_metric(&server, "ojs_rate_limit_waiting", &[("key", "k19")], 1.0);
}

#[test]
fn jobs_and_workers_have_metrics() {
    let server = start(&[]);
    let sent = enqueue_many(&server, &of("acme", "q"), 4);
    let ask = json!({"queues": ["q"], "worker_id": "w1", "count": 2});
    crate::api::fetch(&server, ask);
    crate::shorthand::ack(&server, &sent[0]);
    server.delete(&format!("/ojs/v1/jobs/{}", sent[3])).expect(200);
    let queue = [("queue", "q")];
    await_metric(&server, "ojs_job_enqueued_total", &queue, 4.0);
    await_metric(&server, "ojs_job_completed_total", &queue, 1.0);
    await_metric(&server, "ojs_job_cancelled_total", &queue, 1.0);
    await_metric(&server, "ojs_job_failed_total", &queue, 0.0);
    await_metric(&server, "ojs_job_duration_count", &queue, 1.0);
    await_metric(&server, "ojs_job_queue_time_count", &queue, 2.0);
    await_metric(&server, "ojs_queue_depth", &[("queue", "q"), ("state", "available")], 1.0);
    await_metric(&server, "ojs_workers_busy", &queue, 1.0);
    await_metric(&server, "ojs_workers_active", &[], 1.0);
}
