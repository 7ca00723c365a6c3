//! Ack and nack of single jobs.

use serde_json::{Value, json};

use crate::shorthand::{ack, boom, fresh_queue, job_on, job_with, merged, millis, nack, take};
use crate::shorthand::{quick_retry, take_with, text};
use crate::support::{Reply, Server};

fn started(server: &Server) -> String {
    let queue = fresh_queue();
    server.enqueue(job_on(&queue));
    text(&take_with(server, &queue, json!({"worker_id": "w1"}))["id"])
}

fn settle(server: &Server, what: &str, id: &str, more: Value) -> Reply {
    let body = match what {
        "nack" => json!({"job_id": id, "error": boom()}),
        _ => json!({"job_id": id}),
    };
    let body = merged(body, more);
    server.post(&format!("/ojs/v1/workers/{what}"), body)
}

#[test]
fn any_json_is_a_result() {
    let server = Server::start();
    for result in [json!({"a": [1]}), json!([1, 2]), json!("done"), json!(42.5), json!(true)] {
        let id = started(&server);
        let answer = settle(&server, "ack", &id, json!({"result": result})).expect(200);
        assert_eq!(
            (&answer["state"], &answer["acknowledged"]),
            (&json!("completed"), &json!(true))
        );
        assert_eq!((&answer["id"], &answer["job_id"]), (&json!(id), &json!(id)));
        assert!(answer["completed_at"].is_string(), "{answer}");
        assert_eq!(server.job(&id)["result"], result);
    }
}

#[test]
fn a_result_may_be_null_or_absent() {
    let server = Server::start();
    for more in [json!({"result": null}), json!({})] {
        let id = started(&server);
        settle(&server, "ack", &id, more).expect(200);
        assert_eq!(server.job(&id)["result"], json!(null));
    }
}

#[test]
fn a_result_that_is_too_large_is_refused_and_the_job_stays() {
    let server = Server::start_with(&["--limits-result-bytes", "1KiB"]);
    let id = started(&server);
    let large = json!({"result": "x".repeat(2000)});
    settle(&server, "ack", &id, large).expect_error(413, "invalid_payload");
    assert_eq!(server.job(&id)["state"], "active");
    settle(&server, "ack", &id, json!({"result": "x".repeat(1000)})).expect(200);
}

#[test]
fn a_stranger_cannot_settle_a_job() {
    let server = Server::start();
    let id = started(&server);
    for what in ["ack", "nack"] {
        for more in [
            json!({"worker_id": "w2"}),
            json!({"attempt": 2}),
            json!({"worker_id": "w1", "attempt": 7}),
        ] {
            let error = settle(&server, what, &id, more.clone()).expect_error(409, "conflict");
            assert_eq!(
                (&error["details"]["worker_id"], &error["details"]["attempt"]),
                (&json!("w1"), &json!(1))
            );
            assert_eq!(server.job(&id)["state"], "active", "{what} {more}");
        }
        settle(&server, what, &id, json!({"worker_id": 5})).expect_error(400, "invalid_request");
        settle(&server, what, &id, json!({"attempt": "x"})).expect_error(400, "invalid_request");
    }
    settle(&server, "ack", &id, json!({"worker_id": "w1", "attempt": 1})).expect(200);
}

#[test]
fn a_second_ack_is_refused() {
    let server = Server::start();
    let id = started(&server);
    settle(&server, "ack", &id, json!({"result": 1})).expect(200);
    settle(&server, "ack", &id, json!({"result": 2})).expect_error(409, "conflict");
    assert_eq!(server.job(&id)["result"], 1);
}

#[test]
fn a_nack_tells_when_the_next_attempt_is() {
    let server = Server::start();
    let queue = fresh_queue();
    let retry = json!({"max_attempts": 2, "initial_interval": "PT0.2S", "jitter": false});
    let id = server.enqueue(job_with(&queue, json!({"retry": retry})));
    take(&server, &queue);
    let answer = nack(&server, &id, boom());
    let expected = json!({"id": id, "job_id": id, "state": "retryable", "attempt": 1,
        "max_attempts": 2, "retry_delay_ms": 200});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(answer[key], *value, "{key} of {answer}");
    }
    assert_eq!(answer["job"]["state"], "retryable");
    let error = &server.job(&id)["error"];
    assert_eq!(millis(&answer["next_attempt_at"]) - millis(&error["occurred_at"]), 200);
    assert!(answer.get("discarded_at").is_none() && answer.get("completed_at").is_none());
    take(&server, &queue);
    let answer = nack(&server, &id, boom());
    assert_eq!((&answer["state"], &answer["attempt"]), (&json!("discarded"), &json!(2)));
    assert!(answer["discarded_at"].is_string() && answer["completed_at"].is_string(), "{answer}");
    assert!(answer.get("next_attempt_at").is_none(), "{answer}");
}

#[test]
fn a_worker_that_cannot_run_a_job_puts_it_back_at_once() {
    let server = Server::start();
    let queue = fresh_queue();
    let retry = json!({"max_attempts": 3, "initial_interval": "PT1H"});
    let id = server.enqueue(job_with(&queue, json!({"retry": retry})));
    take(&server, &queue);
    let answer = settle(&server, "nack", &id, json!({"requeue": true})).expect(200);
    assert_eq!(answer["state"], "available");
    let again = server.fetch(&queue, 1).remove(0);
    assert_eq!((&again["id"], &again["attempt"]), (&json!(id), &json!(2)));
    settle(&server, "nack", &id, json!({"requeue": "yes"})).expect_error(400, "invalid_request");
}

#[test]
fn a_job_that_failed_completes_on_a_later_attempt() {
    let server = Server::start();
    let queue = fresh_queue();
    let id = server.enqueue(job_with(&queue, json!({"retry": quick_retry(3)})));
    take(&server, &queue);
    nack(&server, &id, boom());
    take(&server, &queue);
    let answer = ack(&server, &id);
    assert_eq!((&answer["state"], &answer["attempt"]), (&json!("completed"), &json!(2)));
}

#[test]
fn a_settlement_must_name_a_job() {
    let server = Server::start();
    for what in ["ack", "nack"] {
        let path = format!("/ojs/v1/workers/{what}");
        for body in [json!({}), json!({"job_id": 7}), json!({"job_id": "x"})] {
            server.post(&path, body).expect_error(400, "invalid_request");
        }
    }
}
