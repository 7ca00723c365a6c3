//! How a limit may be written, and what is refused.

use serde_json::{Value, json};

use crate::api::{assert_has, enqueue_many, fresh, limited, list, partition, shared};
use crate::shorthand::{fresh_queue, job_on, job_with, now_ms, text};
use crate::support::Server;

fn post(server: &Server, limit: Value) -> crate::support::Reply {
    server.post("/ojs/v1/jobs", limited(&fresh_queue(), limit))
}

#[test]
fn a_limit_stands_at_the_top_or_in_the_options() {
    let server = shared();
    for nested in [false, true] {
        let (key, queue) = (fresh("api"), fresh_queue());
        let limit = json!({"rate_limit": {"key": key, "concurrency": 1}});
        let job = if nested { json!({"options": limit}) } else { limit };
        enqueue_many(&server, &job_with(&queue, job), 2);
        assert_eq!(server.fetch(&queue, 9).len(), 1, "{nested}");
    }
    let differ = json!({"rate_limit": {"key": "a", "concurrency": 1},
        "options": {"rate_limit": {"key": "b", "concurrency": 1}}});
    server.post("/ojs/v1/jobs", job_with(&fresh_queue(), differ)).expect(400);
}

#[test]
fn a_limit_is_returned_as_it_was_sent() {
    let server = shared();
    let limit = json!({"key": fresh("api"), "concurrency": 5, "rate": {"limit": 100, "period": "PT1M"},
        "throttle": {"limit": 10, "period": "PT1S"}, "on_limit": "wait"});
    let id = server.enqueue(limited(&fresh_queue(), limit.clone()));
    assert_eq!(server.job(&id)["rate_limit"], limit);
}

#[test]
fn short_forms_mean_windows() {
    let server = shared();
    for (more, count, period) in [
        (json!({"max_per_second": 2}), 2, "PT1S"),
        (json!({"rate": 3, "period": "second"}), 3, "PT1S"),
        (json!({"rate": 3, "period": "minute"}), 3, "PT1M"),
        (json!({"rate": 3, "period": "hour"}), 3, "PT1H"),
        (json!({"rate": 3, "period": "day"}), 3, "P1D"),
    ] {
        let (key, queue) = (fresh("api"), fresh_queue());
        let limit = crate::shorthand::merged(json!({"key": key}), more.clone());
        server.enqueue(limited(&queue, limit));
        let shown = partition(&server, &key);
        let window = if shown["rate"].is_object() { &shown["rate"] } else { &shown["throttle"] };
        assert_eq!(window["limit"], count, "{more}: {shown}");
        // A day may be written in hours.
        assert_eq!(text(&window["period"]).replace("PT24H", "P1D"), period, "{more}: {shown}");
    }
}

#[test]
fn without_a_key_the_queue_is_the_key() {
    let server = shared();
    let queue = fresh_queue();
    enqueue_many(&server, &limited(&queue, json!({"concurrency": 1})), 2);
    assert_eq!(server.fetch(&queue, 9).len(), 1);
    assert_has(&partition(&server, &format!("queue:{queue}")), json!({"waiting_count": 1}));
}

#[test]
fn null_is_no_limit() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit = json!({"key": key, "concurrency": null, "rate": null, "throttle": null});
    enqueue_many(&server, &limited(&queue, limit), 5);
    assert_eq!(server.fetch(&queue, 9).len(), 5);
    enqueue_many(&server, &job_with(&queue, json!({"rate_limit": null})), 2);
    assert_eq!(server.fetch(&queue, 9).len(), 2);
}

#[test]
fn a_concurrency_of_zero_pauses_the_key() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let id = server.enqueue(limited(&queue, json!({"key": key, "concurrency": 0})));
    let free = server.enqueue(job_on(&queue));
    assert_eq!(crate::shorthand::ids(&server.fetch(&queue, 9)), [free]);
    assert_eq!(server.job(&id)["state"], "available");
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let server = shared();
    post(&server, json!({"key": fresh("api"), "concurrency": 1})).expect(201);
    for (limit, field) in [
        (json!({"key": "a", "concurrency": -1}), "rate_limit.concurrency"),
        (json!({"key": "a", "concurrency": "two"}), "rate_limit.concurrency"),
        (json!({"key": "a", "rate": {"limit": 5}}), "rate_limit.rate.period"),
        (json!({"key": "a", "rate": {"period": "PT1S"}}), "rate_limit.rate.limit"),
        (json!({"key": "a", "rate": {"limit": 5, "period": "soon"}}), "rate_limit.rate.period"),
        (json!({"key": "a", "rate": {"limit": 5, "period": "PT0S"}}), "rate_limit.rate.period"),
        (json!({"key": "a", "throttle": {"limit": 5}}), "rate_limit.throttle.period"),
        (json!({"key": "a", "on_limit": "explode"}), "rate_limit.on_limit"),
        (json!({"key": "a", "scope": "galaxy"}), "rate_limit.scope"),
        (json!({"key": 7, "concurrency": 1}), "rate_limit.key"),
        (json!([]), "rate_limit"),
    ] {
        let reply = post(&server, limit.clone());
        assert!(matches!(reply.status, 400 | 422), "{limit}: {}", reply.text);
        // The member itself, or the object that it is missing in.
        let named = text(&reply.body["error"]["details"]["field"]);
        assert!(named.starts_with("rate_limit") && field.starts_with(&named), "{limit}: {named}");
    }
}

#[test]
fn keys_have_a_pattern_and_a_longest() {
    let server = shared();
    for bad in ["", "-a", ".a", ":a", "_a", "a b", "a/b", "ä"] {
        let reply = post(&server, json!({"key": bad, "concurrency": 1}));
        assert!(matches!(reply.status, 400 | 422), "{bad}: {}", reply.text);
        assert_eq!(reply.body["error"]["details"]["field"], "rate_limit.key", "{bad}");
    }
    let long = "k".repeat(201);
    assert!(matches!(post(&server, json!({"key": long, "concurrency": 1})).status, 400 | 422));
    for good in
        ["api.stripe.com", "tenant:acme-corp", "tenant:acme:api:stripe", "9_", &"k".repeat(200)]
    {
        post(&server, json!({"key": good, "concurrency": 1})).expect(201);
        assert_eq!(partition(&server, good)["key"], good);
    }
}

#[test]
fn a_tenant_has_so_many_keys_and_no_more() {
    let server = crate::api::start(&[("ROTA_LIMITS_RATE_KEYS_PER_TENANT", "2")]);
    let job = |tenant: &str, key: &str| {
        crate::api::of_with(tenant, "q", json!({"rate_limit": {"key": key, "concurrency": 1}}))
    };
    server.enqueue(job("acme", "a"));
    server.enqueue(job("acme", "b"));
    server.enqueue(job("acme", "a"));
    let status = server.post("/ojs/v1/jobs", job("acme", "c")).status;
    assert!(matches!(status, 422 | 429), "{status}");
    server.enqueue(job("beta", "d"));
}

#[test]
fn a_limited_job_is_accepted_with_its_limits_in_the_headers() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let job = limited(&queue, json!({"key": key, "rate": {"limit": 2, "period": "PT1M"}}));
    for n in 0..3 {
        let before = now_ms() / 1000;
        let reply = server.post("/ojs/v1/jobs", job.clone());
        assert_eq!(reply.header("X-RateLimit-Limit"), Some("2"), "{n}");
        let number = |name: &str| -> i64 { reply.header(name).unwrap().parse().unwrap() };
        assert!((0..=2).contains(&number("X-RateLimit-Remaining")));
        let reset = number("X-RateLimit-Reset");
        assert!(reset >= before - 1 && reset <= now_ms() / 1000 + 61, "{reset}");
        reply.expect(201);
    }
    let plain = server.post("/ojs/v1/jobs", job_on(&queue));
    assert_eq!(plain.header("X-RateLimit-Limit"), None);
    let manifest = server.get("/ojs/manifest").expect(200).to_string();
    assert!(manifest.contains("rate-limiting") || manifest.contains("rate_limit"), "{manifest}");
    assert!(!list(&server.get("/ojs/v1/rate-limits").expect(200)["items"]).is_empty());
}
