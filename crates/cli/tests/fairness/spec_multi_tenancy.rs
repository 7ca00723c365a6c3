//! The rows of the multi-tenancy extension.

use serde_json::json;

use crate::api::{
    assert_has, assert_members, caller, enqueue_many, fresh, list, of, put_tenant, retry_after,
    shared, start, tenant, tenant_stats, tenants,
};
use crate::shorthand::{ack, fresh_queue, ids};
use crate::watch::metric;

#[test]
fn mt_001_the_tenant_is_extracted_from_meta() {
    let server = shared();
    let (acme, beta, queue) = (fresh("tenant_acme-corp"), fresh("tenant_beta"), fresh_queue());
    let id = server.enqueue(of(&acme, &queue));
    assert_eq!(tenant(&server.job(&id)), acme);
    assert_eq!(tenant_stats(&server, &acme)["jobs"]["available"], 1);
    assert!(caller(&server, &beta).fetch(&queue, 1).is_empty());
    assert_eq!(ids(&caller(&server, &acme).fetch(&queue, 1)), [id]);
}

#[test]
fn mt_002_tenants_are_isolated() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    let id = server.enqueue(of(&acme, &queue));
    caller(&server, &beta).get(&format!("/ojs/v1/jobs/{id}")).expect_error(404, "not_found");
    enqueue_many(&server, &of(&acme, &queue), 99);
    enqueue_many(&server, &of(&beta, &queue), 1);
    let first = tenants(&server.fetch(&queue, 2));
    assert!(first.contains(&beta), "a burst must not block another tenant: {first:?}");
}

#[test]
fn mt_003_a_tenants_concurrency_is_limited() {
    let server = shared();
    let (acme, queue, other) = (fresh("acme"), fresh_queue(), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_concurrency": 2}}));
    let sent = enqueue_many(&server, &of(&acme, &queue), 3);
    enqueue_many(&server, &of(&acme, &other), 1);
    assert_eq!(server.fetch(&queue, 9).len(), 2);
    assert!(server.fetch(&queue, 9).is_empty());
    assert!(server.fetch(&other, 9).is_empty());
    ack(&server, &sent[0]);
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[2..]);
}

#[test]
fn mt_004_a_limit_refuses_with_429() {
    let server = shared();
    let (acme, queue) = (fresh("acme-corp"), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_queue_depth": 2}}));
    enqueue_many(&server, &of(&acme, &queue), 2);
    let reply = server.post("/ojs/v1/jobs", of(&acme, &queue));
    assert!(retry_after(&reply) >= 1);
    let error = reply.expect_error(429, "TENANT_LIMIT_EXCEEDED");
    let message = format!("Tenant '{acme}' has exceeded max_queue_depth (2)");
    assert_has(
        &error,
        json!({"message": message, "tenant_id": acme, "limit": "max_queue_depth", "current": 2,
            "maximum": 2}),
    );
}

#[test]
fn mt_005_tenants_are_listed_with_statistics() {
    let server = start(&[]);
    put_tenant(&server, "acme", json!({"limits": {"max_concurrency": 20}, "fairness_weight": 10}));
    enqueue_many(&server, &of("acme", "q"), 3);
    server.fetch("q", 1);
    let items = list(&server.get("/ojs/v1/admin/tenants").expect(200)["items"]);
    let acme = items.iter().find(|one| one["tenant_id"] == "acme").unwrap();
    assert_has(&acme["jobs"], json!({"available": 2, "active": 1}));
    let stats = tenant_stats(&server, "acme");
    assert_members(
        &stats,
        &["tenant_id", "jobs", "throughput", "limits", "fairness", "total_jobs"],
    );
    let jobs = ["available", "active", "scheduled", "completed_24h", "failed_24h"];
    assert_members(&stats["jobs"], &jobs);
    assert_members(&stats["throughput"], &["processed_per_minute", "enqueued_per_minute"]);
    assert_has(&stats["limits"]["max_concurrency"], json!({"limit": 20, "current": 1}));
    assert_members(&stats["fairness"], &["weight", "effective_share", "actual_share"]);
}

#[test]
fn mt_006_metrics_have_the_tenant_as_a_label() {
    let server = start(&[]);
    let sent = enqueue_many(&server, &of("acme", "q"), 3);
    server.fetch("q", 2);
    ack(&server, &sent[0]);
    for (name, expected) in [
        ("ojs_tenant_jobs_active", 1.0),
        ("ojs_tenant_jobs_enqueued_total", 3.0),
        ("ojs_tenant_jobs_processed_total", 1.0),
        ("ojs_tenant_queue_depth", 1.0),
    ] {
        crate::watch::await_metric(
            &server,
            name,
            &[("tenant_id", "acme"), ("queue", "q")],
            expected,
        );
    }
    assert!(metric(&server, "ojs_tenant_fairness_share", &[("tenant_id", "acme")]).is_some());
}
