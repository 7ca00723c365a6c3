//! Headers: media types, versions, request ids and locations.

use serde_json::json;

use crate::shorthand::{NOBODY, job_on};
use crate::support::wire::{Wire, request};
use crate::support::{JSON, Reply, Server};

const MEDIA_TYPE: &str = "application/openjobspec+json";

fn enqueue_as(server: &Server, headers: &[(&str, &str)]) -> Reply {
    let body = job_on("q").to_string();
    server.send("POST", "/ojs/v1/jobs", headers, Some(body.as_bytes()))
}

#[test]
fn every_answer_has_the_media_type_and_the_version() {
    let server = Server::start();
    let replies = [
        (201, server.post("/ojs/v1/jobs", job_on("q"))),
        (400, server.post("/ojs/v1/jobs", json!({}))),
        (422, server.post("/ojs/v1/workflows", json!({}))),
        (404, server.get(&format!("/ojs/v1/jobs/{NOBODY}"))),
        (404, server.get("/no/such/path")),
        (405, server.put("/ojs/v1/jobs", json!({}))),
        (200, server.get("/ojs/manifest")),
        (200, server.get("/ojs/v1/health")),
        (200, server.get("/health")),
        (200, server.get("/ojs/v1/admin/stats")),
    ];
    for (status, reply) in replies {
        assert_eq!(reply.status, status, "{}", reply.text);
        assert_eq!(reply.header("content-type"), Some(MEDIA_TYPE), "{}", reply.text);
        assert_eq!(reply.header("ojs-version"), Some("1.0"), "{}", reply.text);
        assert!(reply.header("x-request-id").is_some());
    }
}

#[test]
fn both_media_types_are_taken_with_parameters() {
    let server = Server::start();
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        MEDIA_TYPE,
        "Application/OpenJobSpec+JSON;charset=UTF-8",
    ] {
        enqueue_as(&server, &[("Content-Type", kind)]).expect(201);
    }
    enqueue_as(&server, &[]).expect(201);
}

#[test]
fn other_media_types_are_refused() {
    let server = Server::start();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
        enqueue_as(&server, &[("Content-Type", kind)]).expect_error(400, "invalid_request");
    }
    assert!(server.fetch("q", 5).is_empty());
}

#[test]
fn version_1_0_and_its_pre_releases_are_accepted_and_others_refused() {
    let server = Server::start();
    for version in ["1.0", "1", "1.0.0", "1.0.0-rc.1", "1.0.0-rc.7"] {
        enqueue_as(&server, &[JSON, ("OJS-Version", version)]).expect(201);
    }
    for version in ["2.0", "0.1", "latest", "1.1.0-rc.1"] {
        let reply = enqueue_as(&server, &[JSON, ("OJS-Version", version)]);
        assert_eq!(reply.header("ojs-version"), Some("1.0"));
        reply.expect_error(422, "unsupported");
    }
    assert_eq!(server.fetch("q", 9).len(), 5);
    for path in ["/ojs/manifest", "/ojs/v1/health", "/health", "/ready"] {
        server.send("GET", path, &[("OJS-Version", "9.9")], None).expect(200);
    }
}

#[test]
fn a_refused_request_keeps_its_connection_or_says_that_it_ends() {
    let server = Server::start();
    let mut wire = Wire::open(server.address()).unwrap();
    let body = br#"{"type": "a.b", "args": []}"#;
    for header in ["OJS-Version: 2.0", "X-OJS-Tenant: not a tenant"] {
        wire.write(&request("POST", "/ojs/v1/jobs", &[header], body)).unwrap();
        let refused = wire.answer().unwrap();
        assert!([400, 422].contains(&refused.status), "{refused:?}");
        assert_eq!(refused.header("connection"), None);
        assert_eq!(wire.get("/health").unwrap().status, 200, "after {header}");
    }
    // The body is never sent, so the connection cannot be used again.
    for head in [
        "POST /ojs/v1/jobs HTTP/1.1\r\nHost: r\r\nOJS-Version: 2.0\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
        "POST /nowhere HTTP/1.1\r\nHost: r\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
        "POST /ojs/v1/jobs HTTP/1.1\r\nHost: r\r\nContent-Length: 999999999\r\n\r\n",
    ] {
        let mut wire = Wire::open(server.address()).unwrap();
        wire.write(head.as_bytes()).unwrap();
        let refused = wire.answer().unwrap();
        assert!(refused.status >= 400, "{refused:?}");
        assert_eq!(refused.header("connection"), Some("close"), "{head}");
    }
}

#[test]
fn a_request_id_is_made_up_when_there_is_none() {
    let server = Server::start();
    let ids: Vec<String> = (0..3)
        .map(|_| server.get("/ojs/v1/health").header("x-request-id").expect("an id").to_owned())
        .collect();
    assert!(ids.iter().all(|id| id.starts_with("req_")), "{ids:?}");
    assert!(ids[0] != ids[1] && ids[1] != ids[2], "{ids:?}");
}

#[test]
fn a_request_id_is_echoed_in_the_header_and_the_error() {
    let server = Server::start();
    let reply =
        server.send("GET", &format!("/ojs/v1/jobs/{NOBODY}"), &[("X-Request-Id", "abc-1")], None);
    assert_eq!(reply.header("x-request-id"), Some("abc-1"));
    assert_eq!(reply.expect(404)["error"]["request_id"], "abc-1");
    let reply = server.get(&format!("/ojs/v1/jobs/{NOBODY}"));
    let made_up = reply.header("x-request-id").expect("an id").to_owned();
    assert_eq!(reply.expect(404)["error"]["request_id"], made_up);
}

#[test]
fn a_request_id_that_is_unfit_is_replaced() {
    let server = Server::start();
    for bad in ["x".repeat(129), "has space".to_owned()] {
        let reply = server.send("GET", "/ojs/v1/health", &[("X-Request-Id", &bad)], None);
        assert!(reply.header("x-request-id").expect("an id").starts_with("req_"));
    }
}

#[test]
fn a_new_job_has_a_location() {
    let server = Server::start();
    let reply = server.post("/ojs/v1/jobs", job_on("q"));
    let location = reply.header("location").expect("a location").to_owned();
    let id = reply.expect(201)["job"]["id"].clone();
    assert_eq!(server.get(&location).expect(200)["id"], id);
}

#[test]
fn an_error_has_all_of_its_members() {
    let server = Server::start();
    let error =
        server.post("/ojs/v1/jobs", json!({"args": []})).expect_error(400, "invalid_request");
    for key in ["code", "type", "message", "hint", "docs_url", "doc_url", "request_id"] {
        assert!(error[key].as_str().is_some_and(|text| !text.is_empty()), "{key} of {error}");
    }
    assert_eq!((&error["retryable"], &error["details"]["field"]), (&json!(false), &json!("type")));
}

#[test]
fn health_is_served_at_the_root_too() {
    let server = Server::start();
    for path in ["/health", "/ojs/v1/health"] {
        let body = server.get(path).expect(200);
        assert_eq!((&body["status"], &body["backend"]["status"]), (&json!("ok"), &json!("ok")));
    }
    server.get("/ready").expect(200);
}
