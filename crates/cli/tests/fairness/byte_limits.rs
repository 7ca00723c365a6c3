//! A tenant's limit on stored bytes: refused at enqueue, while other tenants go on.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::api::{
    assert_has, caller, enqueue_many, fresh, of, of_with, put_tenant, retry_after, shared, start,
    tenant_stats, try_batch,
};
use crate::shorthand::{ack, boom, eventually, fresh_queue, nack, take, text};
use crate::support::Server;
use crate::watch::{await_event, events};

fn stored(server: &Server, tenant: &str) -> u64 {
    tenant_stats(server, tenant)["stored_bytes"].as_u64().unwrap()
}

/// A tenant with one job, and the bytes of such a job.
fn tenant_with_a_job(server: &Server) -> (String, String, u64) {
    let (acme, queue) = (fresh("acme"), fresh_queue());
    server.enqueue(of(&acme, &queue));
    let size = stored(server, &acme);
    (acme, queue, size)
}

fn limit(server: &Server, tenant: &str, most: u64) {
    put_tenant(server, tenant, json!({"limits": {"max_bytes": most}}));
}

fn try_enqueue(server: &Server, job: Value) -> crate::support::Reply {
    server.post("/ojs/v1/jobs", job)
}

#[test]
fn bytes_that_are_used_up_refuse_until_jobs_are_deleted() {
    let server = shared();
    let (acme, queue, size) = tenant_with_a_job(&server);
    limit(&server, &acme, 3 * size);
    enqueue_many(&server, &of(&acme, &queue), 2);
    let reply = try_enqueue(&server, of(&acme, &queue));
    assert_eq!(retry_after(&reply), 5);
    let error = reply.expect_error(429, "TENANT_LIMIT_EXCEEDED");
    let expected = json!({"tenant_id": acme, "limit": "max_bytes", "current": 3 * size,
        "maximum": 3 * size, "retryable": true});
    assert_has(&error, expected);
    let event = await_event(&server, "tenant.limit_exceeded", "tenant_id", &acme);
    assert_has(&event, json!({"limit": "max_bytes", "current": 3 * size, "maximum": 3 * size}));
    let limits = server.get(&format!("/ojs/v1/admin/tenants/{acme}/limits")).expect(200);
    assert_eq!(limits["limits"]["max_bytes"], json!({"limit": 3 * size, "current": 3 * size}));
    // Others are not concerned.
    server.enqueue(of(&fresh("beta"), &queue));
    // A job that is done is still stored; one that is deleted makes room.
    let id = text(&caller(&server, &acme).fetch(&queue, 1)[0]["id"]);
    ack(&server, &id);
    try_enqueue(&server, of(&acme, &queue)).expect(429);
    let done = json!({"confirm": true, "filter": {"queue": queue, "state": "completed"}});
    server.post("/ojs/v1/admin/jobs/bulk/delete", done).expect(200);
    eventually("there is room", || {
        (try_enqueue(&server, of(&acme, &queue)).status == 201).then_some(())
    });
    try_enqueue(&server, of(&acme, &queue)).expect(429);
}

#[test]
fn a_job_that_can_never_fit_is_too_large() {
    let server = shared();
    let (acme, queue, size) = tenant_with_a_job(&server);
    limit(&server, &acme, 3 * size);
    let large = of_with(&acme, &queue, json!({"args": ["x".repeat(3 * size as usize)]}));
    let reply = try_enqueue(&server, large.clone());
    assert_eq!(reply.header("Retry-After"), None);
    let error = reply.expect_error(413, "TENANT_LIMIT_EXCEEDED");
    assert_has(&error, json!({"limit": "max_bytes", "maximum": 3 * size, "retryable": false}));
    // The same in a batch; and a batch that is too large as a whole.
    try_batch(&server, &[of(&acme, &queue), large]).expect_error(413, "TENANT_LIMIT_EXCEEDED");
    let reply = try_batch(&server, &vec![of(&acme, &queue); 4]);
    assert_eq!(reply.header("Retry-After"), None);
    reply.expect_error(422, "TENANT_LIMIT_EXCEEDED");
    try_batch(&server, &vec![of(&acme, &queue); 3]).expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_eq!(stored(&server, &acme), size, "nothing of a batch came in");
    try_batch(&server, &vec![of(&acme, &queue); 2]).expect(201);
    limit(&server, &acme, 0);
    try_enqueue(&server, of(&acme, &queue)).expect(413);
}

#[test]
fn results_errors_and_retries_are_never_refused() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    let retry = json!({"retry": {"max_attempts": 3, "initial_interval": "PT0.05S",
        "backoff_strategy": "constant", "jitter": false}});
    let id = server.enqueue(of_with(&acme, &queue, retry));
    let size = stored(&server, &acme);
    limit(&server, &acme, size);
    take(&server, &queue);
    assert_eq!(nack(&server, &id, boom())["state"], "retryable");
    take(&server, &queue);
    let result = "x".repeat(10_000);
    server.post("/ojs/v1/workers/ack", json!({"job_id": id, "result": result})).expect(200);
    assert!(stored(&server, &acme) > size + 10_000);
    try_enqueue(&server, of(&acme, &queue)).expect(429);
}

#[test]
fn a_soft_quota_admits_and_says_so() {
    let server = shared();
    let (acme, queue, size) = tenant_with_a_job(&server);
    put_tenant(&server, &acme, json!({"limits": {"max_bytes": size}, "quota": "soft"}));
    let reply = try_enqueue(&server, of(&acme, &queue));
    assert_eq!(reply.header("X-OJS-Quota-Exceeded"), Some("max_bytes"));
    assert_eq!(reply.expect(201)["quota_exceeded"], json!(["max_bytes"]));
    let event = await_event(&server, "tenant.limit_exceeded", "tenant_id", &acme);
    assert_has(&event, json!({"limit": "max_bytes", "soft": true}));
    assert_eq!(stored(&server, &acme), 2 * size);
}

#[test]
fn a_run_that_does_not_fit_is_skipped() {
    let server = shared();
    let (acme, _, size) = tenant_with_a_job(&server);
    let name = fresh("often");
    let cron = json!({"name": name, "expression": "@every 1s", "overlap_policy": "allow",
        "job_template": {"type": "t", "args": [], "queue": fresh_queue()}});
    caller(&server, &acme).post("/ojs/v1/cron", cron).expect(201);
    limit(&server, &acme, size);
    let skipped = eventually("a run is skipped", || {
        let all = events(&server, "cron.skipped");
        all.into_iter().find(|event| event["data"].to_string().contains(&name))
    });
    assert_eq!(skipped["data"]["reason"], "quota_exceeded", "{skipped}");
    caller(&server, &acme).delete(&format!("/ojs/v1/cron/{name}")).expect(200);
}

#[test]
fn many_at_once_use_up_exactly_what_there_is() {
    let server = shared();
    let (acme, queue, size) = tenant_with_a_job(&server);
    limit(&server, &acme, 41 * size);
    let accepted = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..10 {
                    match try_enqueue(&server, of(&acme, &queue)).status {
                        201 => drop(accepted.fetch_add(1, Ordering::Relaxed)),
                        status => assert_eq!(status, 429),
                    }
                }
            });
        }
    });
    assert_eq!(accepted.into_inner(), 40);
    assert_eq!(stored(&server, &acme), 41 * size);
}

#[test]
fn a_limit_for_all_tenants_holds_from_the_first_job_on() {
    let server = start(&[
        ("ROTA_TENANCY_MAX_BYTES", "2KiB"),
        ("ROTA_TENANTS", r#"{"large": {"max_bytes": 1000000}}"#),
    ]);
    let big = |tenant: &str, length: usize| {
        try_enqueue(&server, of_with(tenant, "q", json!({"args": ["x".repeat(length)]})))
    };
    big("acme", 3_000).expect_error(413, "TENANT_LIMIT_EXCEEDED");
    big("acme", 1_500).expect(201);
    let error = big("acme", 1_500).expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_eq!(error["maximum"], 2_048);
    big("beta", 1_500).expect(201);
    big("large", 100_000).expect(201);
    let limits = server.get("/ojs/v1/admin/tenants/acme/limits").expect(200);
    assert_eq!(limits["limits"]["max_bytes"]["limit"], 2_048);
}
