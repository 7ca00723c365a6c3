//! The result of a job, at once or when there is one.

use serde_json::{Value, json};

use crate::shorthand::{NOBODY, boom, job_on, job_with, nack};
use crate::support::{Reply, Server};

fn result(server: &Server, id: &str, query: &str) -> Reply {
    server.get(&format!("/ojs/v1/jobs/{id}/result{query}"))
}

fn ack_with(server: &Server, id: &str, result: &str) {
    let body = format!(r#"{{"job_id":"{id}","result":{result}}}"#);
    server
        .send("POST", "/ojs/v1/workers/ack", &[crate::support::JSON], Some(body.as_bytes()))
        .expect(200);
}

#[test]
fn each_state_has_its_answer() {
    let server = Server::start();
    let id = server.enqueue(job_on("q"));
    let answer = result(&server, &id, "").expect(200);
    assert_eq!((&answer["job_id"], &answer["state"]), (&json!(id), &json!("available")));
    assert_eq!((&answer["result"], &answer["error"]), (&Value::Null, &Value::Null));
    server.fetch("q", 1);
    ack_with(&server, &id, r#"{"sum":12345678901234567890}"#);
    let reply = result(&server, &id, "?wait=true&timeout=30");
    assert!(reply.text.contains(r#""result":{"sum":12345678901234567890}"#), "{}", reply.text);
    let answer = reply.expect(200);
    assert_eq!((&answer["state"], &answer["result_size_bytes"]), (&json!("completed"), &json!(28)));
    for time in ["completed_at", "result_stored_at", "result_expires_at"] {
        assert!(answer[time].is_string(), "{answer}");
    }
    let failed = server.enqueue(job_with("q", json!({"retry": {"max_attempts": 1}})));
    server.fetch("q", 1);
    nack(&server, &failed, boom());
    let answer = result(&server, &failed, "?wait=true").expect(200);
    assert_eq!(answer["state"], "discarded");
    assert_eq!(answer["error"]["message"], boom()["message"], "{answer}");
    let cancelled = server.enqueue(job_on("q"));
    server.delete(&format!("/ojs/v1/jobs/{cancelled}")).expect(200);
    assert_eq!(result(&server, &cancelled, "").expect(200)["state"], "cancelled");
    result(&server, NOBODY, "?wait=true").expect_error(404, "not_found");
    result(&server, &id, "?wait=maybe").expect_error(400, "invalid_request");
    let foreign = [("X-OJS-Tenant", "rival")];
    server.send("GET", &format!("/ojs/v1/jobs/{id}/result"), &foreign, None).expect(404);
}

#[test]
fn a_timeout_without_a_wait_is_rejected() {
    let server = Server::start();
    let id = server.enqueue(job_on("q"));
    for query in ["?timeout=5", "?wait=false&timeout=5", "?wait=1&timeout=5"] {
        let error = result(&server, &id, query).expect_error(400, "invalid_request");
        assert_eq!(error["details"]["field"], "timeout", "{query}");
    }
}

#[test]
fn a_request_waits_for_the_end_or_for_its_time() {
    let server = Server::start();
    let id = server.enqueue(job_on("q"));
    let early = result(&server, &id, "?wait=true&timeout=0").expect(408);
    assert_eq!(
        (&early["error"]["code"], &early["state"]),
        (&json!("timeout"), &json!("available"))
    );
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| result(&server, &id, "?wait=true&timeout=30").expect(200));
        // It may wait already or not: both must end well.
        server.fetch("q", 1);
        ack_with(&server, &id, "7");
        assert_eq!(waiting.join().unwrap()["result"], 7);
    });
}

#[test]
fn waiting_requests_are_capped_for_each_tenant() {
    let flags = ["--limits-event-streams", "4", "--limits-event-streams-per-tenant", "1"];
    let server = Server::start_with(&flags);
    let own = [crate::support::JSON, ("X-OJS-Tenant", "acme")];
    let body = job_on("q").to_string();
    let job = server.send("POST", "/ojs/v1/jobs", &own, Some(body.as_bytes())).expect(201);
    let path = format!("/ojs/v1/jobs/{}/result?wait=true&timeout=", job["id"].as_str().unwrap());
    std::thread::scope(|scope| {
        // One of the short requests below may have the only place when this one arrives.
        let first = scope.spawn(|| {
            let ask = || server.send("GET", &format!("{path}30"), &own[1..], None);
            std::iter::repeat_with(ask).find(|reply| reply.status != 429).unwrap()
        });
        crate::shorthand::eventually("the second is refused", || {
            let second = server.send("GET", &format!("{path}0"), &own[1..], None);
            (second.status == 429).then_some(())
        });
        // Nobody else is.
        server.send("GET", &format!("{path}0"), &[], None).expect(408);
        server.fetch("q", 1);
        ack_with(&server, job["id"].as_str().unwrap(), "1");
        first.join().unwrap().expect(200);
    });
}
