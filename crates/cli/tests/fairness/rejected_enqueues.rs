//! What does not fit: for now, or for good.

use serde_json::{Value, json};

use crate::api::{
    assert_has, bound, enqueue_many, fresh, of, of_with, put_tenant, retry_after, shared, try_batch,
};
use crate::shorthand::{fresh_queue, job_on, job_with, text};
use crate::support::Reply;

/// Asking again would be of no use.
#[track_caller]
fn never(reply: Reply, status: u16, code: &str) -> Value {
    assert_eq!(reply.header("Retry-After"), None);
    let error = reply.expect_error(status, code);
    assert_eq!(error["retryable"], false);
    assert!(!text(&error["message"]).contains("has reached"), "{error}");
    error
}

#[test]
fn a_limit_of_nothing_is_no_matter_of_waiting() {
    let (server, queue) = (shared(), fresh_queue());
    let later = json!({"scheduled_at": "2099-01-01T00:00:00Z"});
    for (limits, more) in [
        (json!({"max_queue_depth": 0}), json!({})),
        (json!({"max_scheduled": 0}), later),
        (json!({"max_enqueue_rate": {"limit": 0, "period": "PT1M"}}), json!({})),
    ] {
        let acme = fresh("acme");
        put_tenant(&server, &acme, json!({"limits": limits}));
        let reply = server.post("/ojs/v1/jobs", of_with(&acme, &queue, more));
        let error = never(reply, 422, "TENANT_LIMIT_EXCEEDED");
        assert_has(&error, json!({"tenant_id": acme, "maximum": 0}));
        assert!(text(&error["hint"]).contains("raised"), "{error}");
    }
}

#[test]
fn a_batch_beyond_a_bound_says_so() {
    let (server, queue) = (shared(), fresh_queue());
    bound(&server, &queue, json!({"max_depth": 2}));
    let error = never(try_batch(&server, &vec![job_on(&queue); 3]), 429, "QUEUE_FULL");
    assert_has(&error, json!({"queue": queue, "depth": 0, "bound": 2}));
    assert!(text(&error["message"]).contains("its depth bound is 2 jobs"), "{error}");
    bound(&server, &queue, json!({"max_size_bytes": 1000}));
    let large = job_with(&queue, json!({"args": ["x".repeat(2000)]}));
    let error = never(server.post("/ojs/v1/jobs", large), 429, "QUEUE_FULL");
    assert!(text(&error["message"]).contains("its size bound is 1000 bytes"), "{error}");
}

#[test]
fn a_depth_is_in_jobs_and_bytes_have_fields_of_their_own() {
    let (server, queue) = (shared(), fresh_queue());
    let large = job_with(&queue, json!({"args": ["x".repeat(2000)]}));
    for (bounds, in_jobs) in [
        (json!({"max_size_bytes": 5000}), None),
        (json!({"max_size_bytes": 5000, "max_depth": 100}), Some("100")),
    ] {
        bound(&server, &queue, bounds);
        while server.get(&format!("/ojs/v1/queues/{queue}")).expect(200)["stats"]["depth"] != 2 {
            server.enqueue(large.clone());
        }
        let reply = server.post("/ojs/v1/jobs", large.clone());
        assert!(retry_after(&reply) >= 1);
        assert_eq!(reply.header("X-OJS-Queue-Depth"), Some("2"));
        assert_eq!(reply.header("X-OJS-Queue-Bound"), in_jobs);
        let error = reply.expect_error(429, "QUEUE_FULL");
        assert_has(&error, json!({"depth": 2, "bound_bytes": 5000}));
        assert!(error["size_bytes"].as_u64().is_some_and(|bytes| bytes > 4000), "{error}");
    }
}

#[test]
fn a_warning_is_in_jobs_too() {
    let (server, queue) = (shared(), fresh_queue());
    bound(&server, &queue, json!({"max_size_bytes": 5000, "warning_threshold": 0.1}));
    let large = job_with(&queue, json!({"args": ["x".repeat(2000)]}));
    server.enqueue(large.clone());
    let reply = server.post("/ojs/v1/jobs", large);
    assert_eq!(reply.header("X-OJS-Queue-Depth"), Some("2"));
    assert_eq!(reply.header("X-OJS-Queue-Bound"), None);
    assert!(reply.header("X-OJS-Queue-Pressure").is_some_and(|part| part.starts_with("0.8")));
}

#[test]
fn a_tenant_whose_part_is_full_is_named() {
    let (server, queue, acme) = (shared(), fresh_queue(), fresh("acme"));
    bound(&server, &queue, json!({"max_depth": 100, "per_tenant": {"max_depth": 2}}));
    enqueue_many(&server, &of(&acme, &queue), 2);
    let error = server.post("/ojs/v1/jobs", of(&acme, &queue)).expect_error(429, "QUEUE_FULL");
    let message = format!("Tenant '{acme}' has reached its depth bound in queue '{queue}' (2)");
    assert_has(&error, json!({"tenant_id": acme, "message": message, "depth": 2, "bound": 2}));
    let error = never(try_batch(&server, &vec![of(&acme, &queue); 3]), 429, "QUEUE_FULL");
    assert!(text(&error["message"]).contains(&format!("'{acme}'")), "{error}");
}
