//! What a failure leads to: another attempt, the dead letter, or nothing.

use serde_json::{Value, json};

use crate::shorthand::{ack, boom, fresh_queue, job_with, merged, millis, nack, quick_retry};
use crate::shorthand::{take, text};
use crate::support::Server;

/// Enqueues with this policy, fails once with this error, and tells the answer.
fn fail_once(server: &Server, retry: Value, error: Value) -> Value {
    let queue = fresh_queue();
    server.enqueue(job_with(&queue, json!({"retry": retry})));
    let job = take(server, &queue);
    nack(server, &text(&job["id"]), error)
}

fn is_dead_letter(server: &Server, id: &Value) -> bool {
    server.get(&format!("/ojs/v1/dead-letter/{}", text(id))).status == 200
}

#[test]
fn the_last_attempt_discards_the_job() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({"retry": quick_retry(3)})));
    for attempt in 1..=3 {
        let job = take(&server, &queue);
        assert_eq!(job["attempt"], attempt);
        let answer = nack(&server, &id, boom());
        assert_eq!(answer["state"], if attempt < 3 { "retryable" } else { "discarded" });
        assert_eq!((&answer["attempt"], &answer["max_attempts"]), (&json!(attempt), &json!(3)));
    }
    let job = server.job(&id);
    assert_eq!((&job["state"], &job["attempt"]), (&json!("discarded"), &json!(3)));
}

#[test]
fn jobs_with_no_or_one_attempt_are_never_retried() {
    let server = Server::start();
    for most in [0, 1] {
        let answer = fail_once(&server, json!({"max_attempts": most}), boom());
        assert_eq!(answer["state"], "discarded", "max_attempts {most}");
        assert_eq!(answer["attempt"], 1);
    }
}

#[test]
fn three_attempts_are_the_default() {
    let server = Server::start();
    let answer = fail_once(&server, json!({}), boom());
    assert_eq!((&answer["state"], &answer["max_attempts"]), (&json!("retryable"), &json!(3)));
    let ms = answer["retry_delay_ms"].as_u64().expect("a delay");
    assert!((500..=1500).contains(&ms), "{ms}");
}

#[test]
fn errors_named_in_the_policy_are_not_retried() {
    let server = Server::start();
    let retry = merged(quick_retry(5), json!({"non_retryable_errors": ["auth.*", "bad.input"]}));
    for (kind, state) in [
        ("bad.input", "discarded"),
        ("auth.expired", "discarded"),
        ("bad.input.more", "retryable"),
        ("bad", "retryable"),
        ("auth", "retryable"),
        ("other.auth.x", "retryable"),
    ] {
        let error = json!({"type": kind, "message": "m"});
        assert_eq!(fail_once(&server, retry.clone(), error)["state"], state, "{kind}");
    }
    let by_code = json!({"code": "bad.input", "message": "m"});
    assert_eq!(fail_once(&server, retry, by_code)["state"], "discarded");
}

#[test]
fn an_error_that_says_it_cannot_be_retried_is_not() {
    let server = Server::start();
    let error = merged(boom(), json!({"retryable": false}));
    assert_eq!(fail_once(&server, quick_retry(5), error)["state"], "discarded");
    let error = merged(boom(), json!({"retryable": true}));
    assert_eq!(fail_once(&server, quick_retry(5), error)["state"], "retryable");
}

#[test]
fn a_handlers_code_decides_over_the_policy() {
    let server = Server::start();
    for (code, on_exhaustion, state, dead) in [
        ("DISCARD", "dead_letter", "discarded", false),
        ("FAIL", "dead_letter", "discarded", false),
        ("DEAD_LETTER", "discard", "discarded", true),
        ("RETRY", "discard", "retryable", false),
    ] {
        let retry = merged(quick_retry(5), json!({"on_exhaustion": on_exhaustion}));
        let answer = fail_once(&server, retry, json!({"code": code, "message": "m"}));
        assert_eq!(answer["state"], state, "{code}");
        assert_eq!(is_dead_letter(&server, &answer["id"]), dead, "{code}");
    }
}

#[test]
fn a_retry_code_does_not_outlast_the_attempts() {
    let server = Server::start();
    let error = json!({"code": "RETRY", "message": "m"});
    assert_eq!(fail_once(&server, quick_retry(1), error)["state"], "discarded");
}

#[test]
fn exhausted_jobs_go_where_the_policy_says() {
    let server = Server::start();
    for (policy, dead) in [
        (json!({"max_attempts": 1, "on_exhaustion": "discard"}), false),
        (json!({"max_attempts": 1, "on_exhaustion": "dead_letter"}), true),
        (json!({"max_attempts": 1}), true),
    ] {
        let answer = fail_once(&server, policy.clone(), boom());
        assert_eq!(answer["state"], "discarded");
        assert_eq!(is_dead_letter(&server, &answer["id"]), dead, "{policy}");
    }
}

#[test]
fn each_failure_is_kept_with_its_attempt_and_time() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({"retry": quick_retry(3)})));
    for n in 1..=2 {
        take(&server, &queue);
        let error = json!({"type": "net.timeout", "code": "timed_out", "message": format!("no {n}"),
            "attempt": 77, "occurred_at": "forged", "details": {"host": "db"}});
        nack(&server, &id, error);
    }
    let again = take(&server, &queue);
    assert_eq!(again["errors"].as_array().map(Vec::len), Some(2), "{again}");
    let job = server.job(&id);
    let errors = job["errors"].as_array().expect("a history").clone();
    assert_eq!(errors.len(), 2);
    for (error, n) in errors.iter().zip(1..) {
        assert_eq!(error["attempt"], n);
        assert_eq!(error["message"], format!("no {n}"));
        assert_eq!((&error["type"], &error["code"]), (&json!("net.timeout"), &json!("timed_out")));
        assert_eq!(error["details"], json!({"host": "db"}));
        assert!(millis(&error["occurred_at"]) >= millis(&job["created_at"]), "{error}");
    }
    assert_eq!(job["error"], errors[1]);
}

#[test]
fn success_clears_the_error_and_keeps_the_history() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({"retry": quick_retry(3)})));
    take(&server, &queue);
    nack(&server, &id, boom());
    take(&server, &queue);
    ack(&server, &id);
    let job = server.job(&id);
    assert_eq!(job["state"], "completed");
    assert!(job.get("error").is_none(), "{job}");
    assert_eq!(job["errors"].as_array().map(Vec::len), Some(1));
}

#[test]
fn only_the_last_twenty_failures_are_kept() {
    let server = Server::start();
    let queue = fresh_queue();
    let retry = json!({"max_attempts": 30, "initial_interval_ms": 1, "max_interval_ms": 1,
        "jitter": false});
    let id = server.enqueue(job_with(&queue, json!({"retry": retry})));
    for _ in 0..23 {
        take(&server, &queue);
        nack(&server, &id, boom());
    }
    let job = server.job(&id);
    let attempts: Vec<_> =
        job["errors"].as_array().expect("a history").iter().map(|e| e["attempt"].clone()).collect();
    assert_eq!(attempts, (4..=23).map(|n| json!(n)).collect::<Vec<_>>());
}

#[test]
fn long_backtraces_are_cut() {
    let server = Server::start();
    let frames: Vec<String> = (0..200).map(|n| format!("frame {n}")).collect();
    let answer = fail_once(&server, quick_retry(3), merged(boom(), json!({"backtrace": frames})));
    let kept = server.job(&text(&answer["id"]))["error"]["backtrace"].clone();
    assert_eq!(kept.as_array().map(Vec::len), Some(50));
    assert_eq!(kept[0], "frame 0");
}

#[test]
fn an_error_must_be_an_object_of_bounded_size() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({})));
    take(&server, &queue);
    let send =
        |error: Value| server.post("/ojs/v1/workers/nack", json!({"job_id": id, "error": error}));
    send(json!("boom")).expect_error(400, "invalid_request");
    send(json!({"message": 5})).expect_error(400, "invalid_request");
    send(json!({"message": "x".repeat(100_000)})).expect_error(413, "invalid_payload");
    let none = server.post("/ojs/v1/workers/nack", json!({"job_id": id}));
    none.expect_error(400, "invalid_request");
    assert_eq!(server.job(&id)["state"], "active");
}
