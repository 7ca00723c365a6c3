//! Data that was made under another isolation is not left behind in silence.

use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::api::{caller, of};
use crate::shorthand::{ids, job_on};
use crate::support::Server;
use crate::support::process::Process;

fn serve(dir: &Path, isolation: &str) -> Server {
    Server::start_at(dir, &["--durability", "os", "--tenancy-isolation", isolation], &[])
}

/// What it says when it does not start.
fn refusal(dir: &Path, isolation: &str) -> String {
    let ended = Process::serve(dir, &["--tenancy-isolation", isolation]).end();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    ended.stderr
}

fn ack(who: crate::api::Caller<'_>, id: &str) {
    who.post("/ojs/v1/workers/ack", json!({"job_id": id})).expect(200);
}

#[test]
fn shared_queues_are_drained_before_namespaces_begin() {
    let dir = TempDir::new().unwrap();
    let mut server = serve(dir.path(), "sharded");
    let first = server.enqueue(of("acme", "mail"));
    server.enqueue(of("beta", "mail"));
    server.terminate();
    let text = refusal(dir.path(), "namespace");
    assert!(text.contains("2 unfinished jobs in 1 queue ('mail')"), "{text}");
    assert!(text.contains("--tenancy-isolation sharded"), "{text}");
    // The other two see the same queues.
    let mut server = serve(dir.path(), "shared");
    assert_eq!(ids(&server.fetch("mail", 1)), [&*first]);
    server.terminate();
    assert!(refusal(dir.path(), "namespace").contains("2 unfinished jobs"), "one is active");
    let mut server = serve(dir.path(), "sharded");
    let acme = caller(&server, "acme");
    ack(acme, &first);
    let second = caller(&server, "beta").fetch("mail", 1).remove(0)["id"].clone();
    ack(caller(&server, "beta"), second.as_str().unwrap());
    server.terminate();
    let server = serve(dir.path(), "namespace");
    caller(&server, "acme").enqueue(job_on("mail"));
    assert_eq!(caller(&server, "acme").fetch("mail", 9).len(), 1);
}

#[test]
fn queues_of_tenants_are_drained_before_all_share_them() {
    let dir = TempDir::new().unwrap();
    let mut server = serve(dir.path(), "namespace");
    let id = caller(&server, "acme").enqueue(job_on("mail"));
    let cron = json!({"name": "nightly", "cron": "0 3 * * *", "type": "a.b", "args": []});
    caller(&server, "acme").post("/ojs/v1/cron", cron).expect(201);
    server.terminate();
    for isolation in ["sharded", "shared"] {
        let text = refusal(dir.path(), isolation);
        assert!(
            text.contains("1 unfinished job in 1 queue ('acme/mail') and 1 schedule"),
            "{text}"
        );
        assert!(text.contains("--tenancy-isolation namespace"), "{text}");
    }
    let mut server = serve(dir.path(), "namespace");
    caller(&server, "acme").delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
    server.terminate();
    assert!(
        refusal(dir.path(), "sharded").contains("data has 1 schedule belonging to single tenants")
    );
    let mut server = serve(dir.path(), "namespace");
    caller(&server, "acme").delete("/ojs/v1/cron/nightly").expect(200);
    server.terminate();
    serve(dir.path(), "sharded").enqueue(of("acme", "mail"));
}
