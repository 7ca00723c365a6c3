//! `rate_limit_until`: a worker tells that a downstream wants to be left alone.

use serde_json::{Value, json};

use crate::api::{enqueue_many, fetch, fresh, limited, of_with, partition, shared, start, state};
use crate::shorthand::{fresh_queue, ids, job_on, job_with, millis, nack, now_ms, take};
use crate::support::Server;
use crate::watch::{await_event, from_now};

fn too_many(until: &str) -> Value {
    json!({"type": "RateLimitExceeded", "code": "rate_limited",
        "message": "Stripe API rate limit exceeded", "rate_limit_until": until})
}

/// Two jobs of a key, the first of which was told to come back later.
fn paused(server: &Server, key: &str, queue: &str, until: &str) -> (Vec<String>, Value) {
    let more = json!({"rate_limit": {"key": key, "concurrency": 5}, "retry": {"max_attempts": 2}});
    let sent = enqueue_many(server, &job_with(queue, more), 2);
    assert_eq!(ids(&server.fetch(queue, 1)), sent[..1]);
    let answer = nack(server, &sent[0], too_many(until));
    (sent, answer)
}

#[test]
fn a_pause_holds_the_whole_key() {
    let server = shared();
    let (key, queue) = (fresh("stripe-api"), fresh_queue());
    let until = from_now(60_000);
    let (sent, answer) = paused(&server, &key, &queue, &until);
    assert_eq!(answer["state"], "available", "{answer}");
    assert!(server.fetch(&queue, 9).is_empty());
    let other = server.enqueue(limited(&queue, json!({"key": fresh("other"), "concurrency": 1})));
    assert_eq!(ids(&server.fetch(&queue, 9)), [other]);
    let shown = partition(&server, &key);
    assert_eq!(millis(&shown["paused_until"]), millis(&json!(until)));
    assert!(shown["pause_reason"].is_string(), "{shown}");
    assert_eq!(state(&server, &sent[1]), "available");
}

#[test]
fn a_pause_costs_no_attempt() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let (sent, _) = paused(&server, &key, &queue, &from_now(700));
    let job = take(&server, &queue);
    assert_eq!((&job["id"], &job["attempt"]), (&json!(sent[0]), &json!(1)));
}

#[test]
fn a_pause_ends_at_its_time_and_not_before() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let until = from_now(1000);
    let (sent, _) = paused(&server, &key, &queue, &until);
    let mut jobs = fetch(&server, json!({"queues": [queue], "count": 2, "wait_ms": 20_000}));
    if jobs.len() == 1 {
        jobs.push(take(&server, &queue));
    }
    assert_eq!(jobs.len(), 2);
    for job in &jobs {
        assert!(sent.contains(&crate::shorthand::text(&job["id"])));
        assert!(millis(&job["started_at"]) >= millis(&json!(until)) - 1, "{job}");
    }
}

#[test]
fn a_pause_survives_a_kill() {
    let mut server = start(&[]);
    let until = from_now(60_000);
    paused(&server, "api", "q", &until);
    server.kill();
    server.restart();
    assert_eq!(millis(&partition(&server, "api")["paused_until"]), millis(&json!(until)));
    assert!(server.fetch("q", 9).is_empty());
}

#[test]
fn a_pause_can_be_cleared() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    paused(&server, &key, &queue, &from_now(60_000));
    let shown = server.delete(&format!("/ojs/v1/rate-limits/{key}")).expect(200);
    assert_eq!(shown["paused_until"], Value::Null);
    assert_eq!(server.fetch(&queue, 9).len(), 2);
}

#[test]
fn an_operator_can_pause_a_key_too() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let path = format!("/ojs/v1/rate-limits/{key}");
    server.enqueue(limited(&queue, json!({"key": key, "concurrency": 5})));
    server.put(&path, json!({"paused_until": from_now(60_000), "reason": "outage"})).expect(200);
    assert!(server.fetch(&queue, 9).is_empty());
    server.put(&path, json!({"paused_until": null})).expect(200);
    assert_eq!(server.fetch(&queue, 9).len(), 1);
}

#[test]
fn a_pause_emits_an_event() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let until = from_now(60_000);
    paused(&server, &key, &queue, &until);
    let event = await_event(&server, "rate_limit.dynamic_adjusted", "key", &key);
    assert_eq!(millis(&event["until"]), millis(&json!(until)));
    assert!(event["reason"].is_string(), "{event}");
}

#[test]
fn a_pause_has_a_longest() {
    let server = start(&[("ROTA_LIMITS_RATE_LIMIT_PAUSE", "10m")]);
    paused(&server, "api", "q", "2099-01-01T00:00:00Z");
    let until = millis(&partition(&server, "api")["paused_until"]);
    assert!(until <= now_ms() + 600_000, "{until}");
}

#[test]
fn without_a_key_only_the_job_itself_pauses() {
    let server = shared();
    let pause = |ms: i64| {
        let (queue, until) = (fresh_queue(), from_now(ms));
        let job = job_with(&queue, json!({"retry": {"max_attempts": 2}}));
        let sent = enqueue_many(&server, &job, 2);
        assert_eq!(server.fetch(&queue, 1).len(), 1);
        (nack(&server, &sent[0], too_many(&until)), queue, sent, until)
    };
    let (answer, queue, sent, _) = pause(60_000);
    assert!(["retryable", "scheduled"].contains(&answer["state"].as_str().unwrap()), "{answer}");
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[1..]);
    let (_, queue, sent, until) = pause(500);
    server.delete(&format!("/ojs/v1/jobs/{}", sent[1])).expect(200);
    let job = take(&server, &queue);
    assert_eq!((&job["id"], &job["attempt"]), (&json!(sent[0]), &json!(1)));
    assert!(millis(&job["started_at"]) >= millis(&json!(until)) - 1);
}

#[test]
fn a_job_that_only_ever_pauses_ends() {
    let server = start(&[("ROTA_LIMITS_RATE_LIMIT_PAUSES", "3")]);
    let retry = json!({"max_attempts": 2, "initial_interval": "PT0.1S"});
    let more = json!({"rate_limit": {"key": "api", "concurrency": 1}, "retry": retry});
    let id = server.enqueue(job_with("q", more));
    let mut states = Vec::new();
    for _ in 0..5 {
        take(&server, "q");
        let answer = nack(&server, &id, too_many(&from_now(100)));
        states.push(crate::shorthand::text(&answer["state"]));
        if answer["state"] == "discarded" {
            break;
        }
    }
    assert_eq!(states.last().map(|state| &**state), Some("discarded"), "{states:?}");
    assert!(states.len() >= 3, "{states:?}");
}

#[test]
fn a_final_failure_stays_one_and_pauses_the_key() {
    let server = shared();
    let until = from_now(60_000);
    let last = json!({"retry": {"max_attempts": 1}});
    let forbidden = json!({"retry": {"non_retryable_errors": ["RateLimitExceeded"]}});
    let refused = crate::shorthand::merged(too_many(&until), json!({"retryable": false}));
    for (more, error) in
        [(last, too_many(&until)), (forbidden, too_many(&until)), (json!({}), refused)]
    {
        let (key, queue) = (fresh("api"), fresh_queue());
        let limit = json!({"rate_limit": {"key": key, "concurrency": 5}});
        let job = job_with(&queue, crate::shorthand::merged(more, limit));
        let sent = enqueue_many(&server, &job, 2);
        assert_eq!(server.fetch(&queue, 1).len(), 1);
        let answer = nack(&server, &sent[0], error);
        assert_eq!(answer["state"], "discarded", "{answer}");
        assert!(server.fetch(&queue, 9).is_empty(), "the key is paused");
    }
}

#[test]
fn a_pause_drops_nothing_and_puts_nothing_off() {
    let server = shared();
    for action in ["drop", "reschedule"] {
        let (key, queue) = (fresh("api"), fresh_queue());
        let path = format!("/ojs/v1/rate-limits/{key}");
        let limit = json!({"key": key, "rate": {"limit": 2, "period": "PT1H"}, "on_limit": action});
        let sent = enqueue_many(&server, &limited(&queue, limit), 2);
        server.put(&path, json!({"paused_until": from_now(60_000)})).expect(200);
        assert!(server.fetch(&queue, 9).is_empty());
        assert!(sent.iter().all(|id| state(&server, id) == "available"), "{action}");
        server.put(&path, json!({"paused_until": null})).expect(200);
        assert_eq!(ids(&server.fetch(&queue, 9)), sent, "{action}");
    }
}

#[test]
fn a_tenant_scoped_key_pauses_for_its_tenant_only() {
    let server = shared();
    let (key, queue, acme, beta) = (fresh("api"), fresh_queue(), fresh("acme"), fresh("beta"));
    let limit = json!({"rate_limit": {"key": key, "concurrency": 5, "scope": "tenant"}});
    let first = server.enqueue(of_with(&acme, &queue, limit.clone()));
    assert_eq!(server.fetch(&queue, 1).len(), 1);
    nack(&server, &first, too_many(&from_now(60_000)));
    let second = server.enqueue(of_with(&beta, &queue, limit));
    assert_eq!(ids(&server.fetch(&queue, 9)), [second]);
}

#[test]
fn a_time_that_is_none_is_refused() {
    let server = shared();
    let queue = fresh_queue();
    let id = server.enqueue(job_on(&queue));
    server.fetch(&queue, 1);
    let reply = crate::shorthand::try_nack(&server, &id, too_many("soon"));
    assert!(matches!(reply.status, 400 | 422), "{}", reply.text);
    assert_eq!(state(&server, &id), "active");
}
