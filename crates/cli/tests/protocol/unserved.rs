//! Features that are known and not served: refused, never ignored.

use serde_json::json;

use crate::shorthand::job_with;
use crate::support::Server;

#[test]
fn unserved_options_are_refused() {
    let server = Server::start();
    for (field, value) in [
        ("unique", json!({"keys": ["type"]})),
        ("rate_limit", json!({"key": "k", "concurrency": 1})),
    ] {
        for more in [json!({field: value}), json!({"options": {field: value}})] {
            let error =
                server.post("/ojs/v1/jobs", job_with("q", more)).expect_error(422, "unsupported");
            assert_eq!(error["details"]["field"], field);
        }
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
fn a_scheduling_strategy_is_refused() {
    let server = Server::start();
    let ask = json!({"queues": ["q"], "strategy": "weighted"});
    server.post("/ojs/v1/workers/fetch", ask).expect_error(422, "unsupported");
}

#[test]
fn whole_groups_of_endpoints_are_refused() {
    let server = Server::start();
    for path in ["/workflows", "/workflows/x/y", "/schemas", "/schemas/a", "/webhooks", "/pools"] {
        server.post(&format!("/ojs/v1{path}"), json!({})).expect_error(422, "unsupported");
        server.get(&format!("/ojs/v1{path}")).expect_error(422, "unsupported");
    }
}

#[test]
fn unserved_queue_settings_are_refused() {
    let server = Server::start();
    for field in ["rate_limit", "max_size", "max_depth"] {
        let reply = server.put("/ojs/v1/admin/queues/q/config", json!({field: {"limit": 1}}));
        assert_eq!(reply.expect_error(422, "unsupported")["details"]["field"], field);
    }
}

#[test]
fn the_manifest_promises_nothing_that_is_refused() {
    let server = Server::start();
    let manifest = server.get("/ojs/manifest").expect(200);
    for name in ["rate_limiting", "schema_validation", "unique_jobs", "workflows"] {
        assert_eq!(manifest["capabilities"][name], false, "{name}");
    }
    for name in ["cron_jobs", "dead_letter", "delayed_jobs", "batch_enqueue", "priority_queues"] {
        assert_eq!(manifest["capabilities"][name], true, "{name}");
    }
    assert_eq!(manifest["specversion"], "1.0");
}
