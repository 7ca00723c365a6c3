//! In namespaces, an operator says whose queue is meant.

use serde_json::{Value, json};

use crate::api::{Caller, caller, list, start};
use crate::shorthand::{job_on, text};

#[test]
fn a_queue_name_without_a_tenant_is_ambiguous() {
    let server = start(&[("ROTA_TENANCY_ISOLATION", "namespace")]);
    let id = caller(&server, "acme").enqueue(job_on("q"));
    let unclear = |reply: crate::support::Reply| {
        let error = reply.expect(422)["error"].clone();
        assert!(text(&error["hint"]).contains("X-OJS-Tenant"), "{error}");
    };
    for path in
        ["queues/q/pause", "queues/q/resume", "admin/queues/q/pause", "admin/queues/q/resume"]
    {
        unclear(server.post(&format!("/ojs/v1/{path}"), json!({})));
    }
    let queue = "/ojs/v1/admin/queues/q";
    unclear(server.put(&format!("{queue}/config"), json!({"concurrency": 1})));
    unclear(server.put(&format!("{queue}/rate-limit"), json!({"concurrency": 1})));
    unclear(server.put("/ojs/v1/rate-limits/queue:q", json!({"concurrency": 1})));
    unclear(server.get(&format!("{queue}/rate-limit")));
    unclear(server.delete(&format!("{queue}/rate-limit")));
    unclear(server.get(queue));
    unclear(server.get("/ojs/v1/queues/q/stats"));
    let all = json!({"states": ["available", "completed"], "confirm": true}).to_string();
    let purge = |headers: &[(&str, &str)]| {
        let headers: Vec<_> = headers.iter().copied().chain([crate::support::JSON]).collect();
        server.send("DELETE", &format!("{queue}/jobs"), &headers, Some(all.as_bytes()))
    };
    unclear(purge(&[]));

    let queues = list(&server.get("/ojs/v1/admin/queues").expect(200)["items"]);
    assert_eq!(queues.len(), 1, "nothing was made: {queues:?}");
    let limits = server.get("/ojs/v1/rate-limits").expect(200);
    assert_eq!(limits["items"], json!([]));
    let acme = caller(&server, "acme");
    assert_eq!(acme.get(&format!("/ojs/v1/jobs/{id}")).expect(200)["job"]["state"], "available");

    let paused = |who: Caller<'_>| -> Value { who.get(queue).expect(200)["paused"].clone() };
    acme.post(&format!("{queue}/pause"), json!({})).expect(200);
    assert_eq!(paused(acme), true);
    let limited = server.put("/ojs/v1/rate-limits/queue:q?tenant=acme", json!({"concurrency": 0}));
    limited.expect(200);
    acme.post(&format!("{queue}/resume"), json!({})).expect(200);
    assert!(acme.fetch("q", 1).is_empty(), "the limit holds it");
    assert_eq!(purge(&[("X-OJS-Tenant", "acme")]).expect(200)["purged_count"], 1);
}
