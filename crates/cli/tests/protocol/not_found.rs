//! What is not there: the hint says why it may not be.

use serde_json::json;

use crate::shorthand::{NOBODY, text};
use crate::support::{Reply, Server};

#[track_caller]
fn assert_hint(reply: Reply, words: &str) {
    let error = reply.expect_error(404, "not_found");
    let hint = text(&error["hint"]);
    assert!(hint.contains(words), "{error}");
    assert_eq!(hint.contains("retention"), words.contains("retention"), "{error}");
}

#[test]
fn each_kind_has_its_own_hint() {
    let server = Server::start();
    let job = format!("/ojs/v1/jobs/{NOBODY}");
    assert_hint(server.get(&job), "retention");
    assert_hint(server.delete(&job), "retention");
    assert_hint(server.get(&format!("/ojs/v1/dead-letter/{NOBODY}")), "retention");
    assert_hint(server.get("/ojs/v1/queues/nope/stats"), "from its first job on");
    assert_hint(server.get("/ojs/v1/admin/workers/nope"), "a heartbeat");
    assert_hint(server.post("/ojs/v1/admin/workers/nope/quiet", json!({})), "a heartbeat");
    assert_hint(server.delete("/ojs/v1/workers/nope"), "a heartbeat");
    assert_hint(server.get("/ojs/v1/cron/nope"), "GET /ojs/v1/cron");
    assert_hint(server.delete("/ojs/v1/cron/nope"), "GET /ojs/v1/cron");
    assert_hint(server.get("/ojs/v1/nope"), "/ojs/manifest");
}
