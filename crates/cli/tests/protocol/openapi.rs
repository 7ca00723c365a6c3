//! The OpenAPI document: how it is served, and that answers are really checked against it.

use serde_json::{Value, json};

use crate::support::openapi::{Checked, document, problem_of};
use crate::support::{JSON, Server};

const PATH: &str = "/ojs/v1/openapi.json";

#[test]
fn the_server_serves_the_document_of_the_docs() {
    let server = Server::start_with(&["--tenancy-isolation", "namespace"]);
    let reply = server.get(PATH);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.expect(200), *document());
}

#[test]
fn a_client_that_has_the_document_is_told_so() {
    let server = Server::start();
    let etag = server.get(PATH).header("etag").unwrap().to_owned();
    let again = server.send("GET", PATH, &[("If-None-Match", &etag)], None);
    assert_eq!((again.status, &*again.text), (304, ""));
    assert_eq!(again.header("etag"), Some(&*etag));
    let other = server.send("GET", PATH, &[("If-None-Match", "\"other\"")], None);
    assert_eq!(other.status, 200);
}

#[test]
fn answers_outside_the_document_are_found() {
    let server = Server::start();
    let body = json!({"type": "a.b", "args": []}).to_string();
    let text = server.send("POST", "/ojs/v1/jobs", &[JSON], Some(body.as_bytes())).text;
    let health = server.get("/health").body;
    let problem = |method, path, status, body: &Value| {
        let text = body.to_string();
        let content_type = Some(JSON.1);
        problem_of(document(), &Checked { method, path, status, content_type, text: &text })
    };
    let is_wrong = |body: &Value, pointer: &str| {
        let found = problem("GET", "/health", 200, body).unwrap_err();
        assert!(found.contains(pointer), "{found}");
    };
    assert_eq!(problem("GET", "/health?x=1", 200, &health), Ok(()));
    let mut without = health.clone();
    without.as_object_mut().unwrap().remove("active_jobs");
    is_wrong(&without, "lacks the member 'active_jobs'");
    let changed = |pointer: &str, value: Value| {
        let mut changed = health.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    is_wrong(&changed("/status", json!("fine")), "\"/status\" does not fit enum");
    is_wrong(&changed("/active_jobs", json!(-1)), "\"/active_jobs\" does not fit minimum");
    is_wrong(&changed("/backend/type", json!(1)), "\"/backend/type\" does not fit type");
    let mut more = health.clone();
    more["backend"]["color"] = json!("red");
    is_wrong(&more, "\"/backend/color\" is not described");
    assert!(problem("GET", "/health", 201, &health).unwrap_err().contains("status"));
    assert!(problem("GET", "/ojs/v1/nothing", 200, &health).is_err());
    let job: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(problem("POST", "/ojs/v1/jobs", 201, &job), Ok(()));
    let mut wrong = job.clone();
    wrong["job"]["state"] = json!("happy");
    let found = problem("POST", "/ojs/v1/jobs", 201, &wrong).unwrap_err();
    assert!(found.contains("\"/job/state\""), "{found}");
}
