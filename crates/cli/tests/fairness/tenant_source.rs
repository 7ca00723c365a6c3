//! `tenancy.source` says where the tenant of a new job is looked for, and nothing else.

use serde_json::json;

use crate::api::{caller, of, start, tenant};
use crate::shorthand::{ids, job_on, text};

const BODY: (&str, &str) = ("ROTA_TENANCY_SOURCE", "body");

#[test]
fn a_request_is_held_to_its_tenant_wherever_jobs_find_theirs() {
    let server = start(&[BODY]);
    let id = server.enqueue(of("acme", "q"));
    let path = format!("/ojs/v1/jobs/{id}");
    let evil = caller(&server, "evil");
    evil.get(&path).expect_error(404, "not_found");
    evil.delete(&path).expect_error(404, "not_found");
    assert!(evil.fetch("q", 9).is_empty());
    let acme = caller(&server, "acme");
    assert_eq!(acme.get(&path).expect(200)["job"]["state"], "available");
    assert_eq!(ids(&acme.fetch("q", 9)), [id]);
}

#[test]
fn a_request_brings_no_job_of_another_tenant() {
    let server = start(&[BODY]);
    let acme = caller(&server, "acme");
    let error = acme.post("/ojs/v1/jobs", of("beta", "q")).expect(400)["error"].clone();
    assert_eq!(error["details"]["field"], "meta.tenant_id");
    acme.post("/ojs/v1/jobs", of("acme", "q")).expect(201);
    // The header does not say whose job it is, and so it would be the default tenant's.
    let error = acme.post("/ojs/v1/jobs", job_on("q")).expect(400)["error"].clone();
    assert!(text(&error["message"]).contains("'_default'"), "{error}");
    caller(&server, "_default").post("/ojs/v1/jobs", job_on("q")).expect(201);
    let plain = server.post("/ojs/v1/jobs", job_on("q")).expect(201);
    assert_eq!(plain["job"]["meta"]["tenant_id"], serde_json::Value::Null);
}

#[test]
fn in_namespaces_the_header_says_whose_queues_are_meant() {
    let server = start(&[BODY, ("ROTA_TENANCY_ISOLATION", "namespace")]);
    let acme = caller(&server, "acme");
    acme.post("/ojs/v1/jobs", job_on("q")).expect(422);
    acme.enqueue(of("acme", "q"));
    server.enqueue(of("beta", "q"));
    let fetched = acme.fetch("q", 9);
    assert_eq!(fetched.iter().map(tenant).collect::<Vec<_>>(), ["acme"]);
    server.post("/ojs/v1/workers/fetch", json!({"queues": ["q"]})).expect(422);
}
