//! How long a failed job waits for its next attempt.

use serde_json::{Value, json};

use crate::shorthand::{boom, fresh_queue, job_with, merged, millis, nack, take, text};
use crate::support::Server;

/// Fails a job as often as it may, and tells the delays.
fn delays(server: &Server, retry: Value) -> Vec<u64> {
    let queue = fresh_queue();
    let failures = retry["max_attempts"].as_u64().expect("max_attempts is given") - 1;
    server.enqueue(job_with(&queue, json!({"retry": retry})));
    let fail = |_| {
        let job = take(server, &queue);
        let answer = nack(server, &text(&job["id"]), boom());
        answer["retry_delay_ms"].as_u64().unwrap_or_else(|| panic!("no delay: {answer}"))
    };
    (0..failures).map(fail).collect()
}

fn policy(strategy: &str, more: Value) -> Value {
    let base = json!({"max_attempts": 4, "initial_interval": "PT0.02S", "jitter": false,
        "backoff_strategy": strategy});
    merged(base, more)
}

#[test]
fn constant_delays_stay_the_same() {
    let server = Server::start();
    assert_eq!(delays(&server, policy("constant", json!({}))), [20, 20, 20]);
    assert_eq!(delays(&server, policy("none", json!({}))), [20, 20, 20]);
}

#[test]
fn linear_delays_grow_by_the_initial_interval() {
    let server = Server::start();
    let policy = policy("linear", json!({"backoff_coefficient": 9.0}));
    assert_eq!(delays(&server, policy), [20, 40, 60]);
}

#[test]
fn exponential_delays_grow_by_the_coefficient() {
    let server = Server::start();
    assert_eq!(delays(&server, policy("exponential", json!({}))), [20, 40, 80]);
    let policy = policy("exponential", json!({"backoff_coefficient": 3.0}));
    assert_eq!(delays(&server, policy), [20, 60, 180]);
}

#[test]
fn polynomial_delays_are_powers_of_the_retry() {
    let server = Server::start();
    let policy = policy("polynomial", json!({"backoff_coefficient": 2.0}));
    assert_eq!(delays(&server, policy), [20, 80, 180]);
}

#[test]
fn no_delay_is_longer_than_the_longest() {
    let server = Server::start();
    let policy =
        policy("exponential", json!({"backoff_coefficient": 10.0, "max_interval": "PT0.05S"}));
    assert_eq!(delays(&server, policy), [20, 50, 50]);
}

#[test]
fn jitter_spreads_delays_from_half_to_one_and_a_half() {
    let server = Server::start();
    let spread = json!({"max_attempts": 2, "initial_interval": "PT0.4S", "jitter": true});
    let mut seen: Vec<u64> = (0..20).flat_map(|_| delays(&server, spread.clone())).collect();
    assert!(seen.iter().all(|ms| (200..=600).contains(ms)), "{seen:?}");
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 5, "hardly random: {seen:?}");
}

#[test]
fn intervals_may_be_given_in_milliseconds() {
    let server = Server::start();
    let policy = json!({"max_attempts": 3, "initial_interval_ms": 15, "max_interval_ms": 20,
        "jitter": false});
    assert_eq!(delays(&server, policy), [15, 20]);
}

#[test]
fn a_failed_job_comes_back_when_its_delay_is_over_and_not_before() {
    let server = Server::start();
    let queue = fresh_queue();
    let failed = |interval: &str| {
        let retry = json!({"initial_interval": interval, "max_interval": "PT1H", "jitter": false});
        let id = server.enqueue(job_with(&queue, json!({"retry": retry})));
        take(&server, &queue);
        let answer = nack(&server, &id, boom());
        assert_eq!(answer["state"], "retryable");
        (id, answer)
    };
    let (id, answer) = failed("PT1H");
    let job = server.job(&id);
    assert_eq!((&job["state"], &job["retry_delay_ms"]), (&json!("retryable"), &json!(3_600_000)));
    assert_eq!(job["next_attempt_at"], answer["next_attempt_at"]);
    let (id, answer) = failed("PT0.5S");
    let again = take(&server, &queue);
    assert_eq!((&again["id"], &again["attempt"]), (&json!(id), &json!(2)));
    assert!(millis(&again["started_at"]) >= millis(&answer["next_attempt_at"]), "{again}");
}

#[test]
fn a_policy_that_makes_no_sense_is_refused_with_the_field() {
    let server = Server::start();
    for (retry, field) in [
        (json!({"max_attempts": -1}), "retry.max_attempts"),
        (json!({"max_attempts": 1.5}), "retry.max_attempts"),
        (json!({"initial_interval": "soon"}), "retry.initial_interval"),
        (json!({"initial_interval": "PT0S"}), "retry.initial_interval"),
        (json!({"initial_interval": "PT2S", "max_interval": "PT1S"}), "retry.max_interval"),
        (json!({"backoff_coefficient": 0.5}), "retry.backoff_coefficient"),
        (json!({"backoff_strategy": "random"}), "retry.backoff_strategy"),
        (json!({"on_exhaustion": "explode"}), "retry.on_exhaustion"),
        (json!({"jitter": "yes"}), "retry.jitter"),
        (json!({"non_retryable_errors": "auth"}), "retry.non_retryable_errors"),
        (json!([]), "retry"),
    ] {
        let reply = server.post("/ojs/v1/jobs", job_with("q", json!({"retry": retry})));
        let error = reply.expect_error(422, "invalid_request");
        assert_eq!(error["type"], "validation_error", "{retry}");
        assert_eq!(error["details"]["field"], field, "{retry}");
    }
}
