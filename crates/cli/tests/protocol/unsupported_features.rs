//! Features that are known and not served: refused, never ignored.

use rota_server::http::{UNSERVED, Unserved};
use serde_json::json;

use crate::shorthand::job_with;
use crate::support::{JSON, Server};

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
fn endpoints_that_are_known_and_not_served_are_refused_by_name() {
    let server = Server::start();
    for Unserved { method, path, feature, instead } in UNSERVED {
        let path = path.replace(['{', '}'], "").replace('*', "some/where");
        let methods =
            if *method == "*" { &["GET", "POST", "PUT", "DELETE"][..] } else { &[*method] };
        for method in methods {
            let body = (*method != "GET").then_some(&b"{}"[..]);
            let reply = server.send(method, &path, &[JSON], body);
            let shown = format!("{method} {path}: {}", reply.text);
            assert_eq!(reply.status, 422, "{shown}");
            let error = reply.expect_error(422, "unsupported");
            assert_eq!(error["details"]["feature"], *feature, "{shown}");
            assert!(error["message"].as_str().unwrap().contains(feature), "{shown}");
            assert!(instead.is_none_or(|instead| error["hint"] == instead), "{shown}");
        }
    }
    server.get("/ojs/v1/nowhere").expect_error(404, "not_found");
    server.post("/ojs/v1/health", json!({})).expect_error(405, "invalid_request");
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
