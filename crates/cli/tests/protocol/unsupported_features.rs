//! Features that are known and not served: refused, never ignored.

use serde_json::json;

use crate::shorthand::job_with;
use crate::support::Server;

#[test]
fn unserved_options_are_refused() {
    let server = Server::start();
    let unique = json!({"keys": ["type"]});
    for more in [json!({"unique": unique}), json!({"options": {"unique": unique}})] {
        let error =
            server.post("/ojs/v1/jobs", job_with("q", more)).expect_error(422, "unsupported");
        assert_eq!(error["details"]["field"], "unique");
    }
    assert!(server.fetch("q", 5).is_empty());
}

#[test]
fn a_version_of_the_specification_that_is_not_spoken_is_refused() {
    let server = Server::start();
    for version in ["2.0", "0.9", "1.1"] {
        let job = job_with("q", json!({"specversion": version}));
        server.post("/ojs/v1/jobs", job).expect_error(422, "unsupported");
    }
    for version in ["1.0", "1.0.0"] {
        server.enqueue(job_with("q", json!({"specversion": version})));
    }
}

#[test]
fn whole_groups_of_endpoints_are_refused() {
    let server = Server::start();
    for path in ["/workflows", "/workflows/x/y", "/schemas", "/schemas/a", "/webhooks"] {
        server.post(&format!("/ojs/v1{path}"), json!({})).expect_error(422, "unsupported");
        server.get(&format!("/ojs/v1{path}")).expect_error(422, "unsupported");
    }
}

#[test]
fn the_manifest_promises_nothing_that_is_refused() {
    let server = Server::start();
    let manifest = server.get("/ojs/manifest").expect(200);
    for name in ["schema_validation", "unique_jobs", "workflows"] {
        assert_eq!(manifest["capabilities"][name], false, "{name}");
    }
    for name in [
        "cron_jobs",
        "dead_letter",
        "delayed_jobs",
        "batch_enqueue",
        "priority_queues",
        "rate_limiting",
    ] {
        assert_eq!(manifest["capabilities"][name], true, "{name}");
    }
    let extensions = manifest["extensions"].as_array().unwrap();
    for name in [
        "rate-limiting",
        "fair-scheduling",
        "backpressure",
        "multi-tenancy",
        "experimental:multi-tenancy",
    ] {
        assert!(extensions.contains(&json!(format!("urn:ojs:ext:{name}"))), "{name}");
    }
    assert_eq!(manifest["isolation"], "sharded");
    assert_eq!(manifest["specversion"], "1.0");
}
