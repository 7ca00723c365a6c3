//! Namespaces: the names of one tenant's queues, workers and events mean nothing to another.

use serde_json::{Value, json};

use crate::api::{Caller, caller, list, of, of_with, start};
use crate::shorthand::{boom, eventually, ids, job_on, job_with, text};
use crate::support::Server;

fn namespaced() -> Server {
    start(&[("ROTA_TENANCY_ISOLATION", "namespace")])
}

fn fetch_as(who: Caller<'_>, worker: &str) -> Vec<Value> {
    let ask = json!({"queues": ["q"], "worker_id": worker});
    list(&who.post("/ojs/v1/workers/fetch", ask).expect(200)["jobs"])
}

#[test]
fn workers_of_the_same_name_are_two() {
    let mut server = namespaced();
    for tenant in ["acme", "beta"] {
        server.enqueue(of(tenant, "q"));
        server.enqueue(of(tenant, "q"));
        let job = fetch_as(caller(&server, tenant), "w1").remove(0);
        assert_eq!(job["worker_id"], "w1");
    }
    // Names are read back as they were written.
    server.restart();
    let (acme, beta) = (caller(&server, "acme"), caller(&server, "beta"));
    let only = json!({"worker_id": "only"});
    acme.post("/ojs/v1/workers/register", only.clone()).expect(200);
    let names = |who: Caller<'_>| -> Vec<String> {
        let answer = who.get("/ojs/v1/admin/workers").expect(200);
        list(&answer["items"]).iter().map(|worker| text(&worker["id"])).collect()
    };
    assert_eq!((names(acme), names(beta)), (vec!["only".into(), "w1".into()], vec!["w1".into()]));
    beta.get("/ojs/v1/admin/workers/only").expect_error(404, "not_found");
    beta.post("/ojs/v1/admin/workers/only/quiet", json!({})).expect_error(404, "not_found");
    beta.post("/ojs/v1/workers/deregister", only).expect_error(404, "not_found");
    beta.post("/ojs/v1/admin/workers/w1/quiet", json!({})).expect(200);
    let beat = |who: Caller<'_>| {
        who.post("/ojs/v1/workers/heartbeat", json!({"worker_id": "w1"})).expect(200)["state"]
            .clone()
    };
    assert_eq!((beat(acme), beat(beta)), (json!("running"), json!("quiet")));
    let all = server.get("/ojs/v1/admin/workers").expect(200);
    let owners: Vec<Value> =
        list(&all["items"]).iter().map(|worker| worker["tenant_id"].clone()).collect();
    assert_eq!(owners, ["acme", "acme", "beta"]);
}

#[test]
fn the_holder_of_a_job_is_known_by_its_own_name() {
    let server = namespaced();
    let acme = caller(&server, "acme");
    let id = acme.enqueue(job_on("q"));
    assert_eq!(ids(&fetch_as(acme, "w1")), [&*id]);
    let shown = acme.get(&format!("/ojs/v1/jobs/{id}")).expect(200);
    assert_eq!(shown["job"]["worker_id"], "w1");
    let ack =
        |worker: &str| acme.post("/ojs/v1/workers/ack", json!({"job_id": id, "worker_id": worker}));
    let error = ack("w2").expect_error(409, "conflict");
    assert_eq!(error["details"]["worker_id"], "w1");
    ack("w1").expect(200);
}

#[test]
fn queues_of_the_same_name_are_two() {
    let server = namespaced();
    let (acme, beta) = (caller(&server, "acme"), caller(&server, "beta"));
    for _ in 0..3 {
        acme.enqueue(job_on("q"));
    }
    beta.enqueue(job_on("q"));
    for (who, count) in [(acme, 3), (beta, 1)] {
        let shown = who.get("/ojs/v1/queues/q").expect(200);
        assert_eq!((&shown["name"], &shown["stats"]["available"]), (&json!("q"), &json!(count)));
        // A minute that has just ended is on its way to the history.
        eventually("they were enqueued", || {
            let shown = who.get("/ojs/v1/queues/q").expect(200);
            (shown["stats"]["enqueued_last_hour"] == count).then_some(())
        });
        let jobs = who.get("/ojs/v1/admin/jobs?queue=q").expect(200);
        assert_eq!(jobs["pagination"]["total"], count);
    }
    let all = server.get("/ojs/v1/admin/queues").expect(200);
    let seen: Vec<(String, String)> = list(&all["items"])
        .iter()
        .map(|queue| (text(&queue["name"]), text(&queue["tenant_id"])))
        .collect();
    assert_eq!(seen, [("q".into(), "acme".into()), ("q".into(), "beta".into())]);
    let found = server.get("/ojs/v1/admin/jobs?queue=q").expect(200);
    assert_eq!(list(&found["items"]).len(), 4);
    let config = json!({"concurrency": 1}).to_string();
    let headers = [crate::support::JSON, ("X-OJS-Tenant", "acme")];
    let path = "/ojs/v1/admin/queues/q/config";
    let answer = server.send("PUT", path, &headers, Some(config.as_bytes())).expect(200);
    assert_eq!(answer["name"], "q");
    assert_eq!((acme.fetch("q", 9).len(), beta.fetch("q", 9).len()), (1, 1));
    let history = caller(&server, "acme").get("/ojs/v1/admin/stats/history?queue=q").expect(200);
    assert!(!list(&history["data"]).is_empty(), "{history}");
}

#[test]
fn a_tenant_keeps_its_jobs_no_longer_than_the_server_does() {
    let server = namespaced();
    let acme = caller(&server, "acme");
    let path = "/ojs/v1/queues/q/config";
    for (field, config) in [
        ("retention.completed", json!({"retention": {"completed": "P8D"}})),
        ("retention.cancelled", json!({"retention": {"cancelled": "P8D"}})),
        ("retention.discarded", json!({"retention": {"discarded": "P31D"}})),
        ("retention.completed", json!({"retention": "P8D"})),
        (
            "dead_letter.retention.max_age",
            json!({"dead_letter": {"retention": {"max_age": "P181D"}}}),
        ),
        (
            "dead_letter.retention.max_count",
            json!({"dead_letter": {"retention": {"max_count": 10_001}}}),
        ),
        ("dead_letter.pruning_policy", json!({"dead_letter": {"pruning_policy": "archive"}})),
    ] {
        let reply = acme.put(path, config.clone());
        assert_eq!(reply.status, 422, "{config}: {}", reply.text);
        assert_eq!(reply.body["error"]["details"]["field"], field, "{config}");
    }
    let create = json!({"name": "new", "retention": {"completed": "P8D"}});
    assert_eq!(acme.post("/ojs/v1/queues", create).status, 422);
    let less = json!({"retention": {"completed": "P7D", "cancelled": "PT0S", "discarded": "P1D"},
        "dead_letter": {"retention": {"max_age": "P180D", "max_count": 10_000}}});
    let config = acme.put(path, less).expect(200)["configuration"].clone();
    assert_eq!(config["retention"]["discarded"], "P1D");
    assert_eq!(config["dead_letter"]["retention"]["max_count"], 10_000);
}

#[test]
fn events_and_explanations_have_local_names() {
    let server = namespaced();
    let acme = caller(&server, "acme");
    let id = acme.enqueue(job_on("q"));
    acme.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    acme.post("/ojs/v1/workers/register", json!({"worker_id": "w1"})).expect(200);
    let events = list(&acme.get("/ojs/v1/events?queues=q").expect(200)["events"]);
    let kinds: Vec<String> = events.iter().map(|event| text(&event["type"])).collect();
    assert_eq!(kinds, ["job.enqueued", "queue.paused"]);
    assert_eq!((&events[1]["subject"], &events[1]["data"]["queue"]), (&json!("q"), &json!("q")));
    let started = acme.get("/ojs/v1/events?types=worker.started").expect(200)["events"].clone();
    assert_eq!(started[0]["subject"], "w1");
    assert_eq!(caller(&server, "beta").get("/ojs/v1/events").expect(200)["events"], json!([]));
    let why = acme.get(&format!("/ojs/v1/admin/jobs/{id}/explain")).expect(200);
    assert_eq!(why["queue"]["name"], "q");
    assert!(text(&why["summary"]).contains("'q'"), "{why}");
    let stats = server.get("/ojs/v1/admin/tenants/acme/stats").expect(200);
    assert_eq!(stats["queues"][0]["name"], "q");
}

#[test]
fn the_dead_letter_counts_local_names() {
    let server = namespaced();
    for tenant in ["acme", "beta"] {
        let who = caller(&server, tenant);
        let id = who.enqueue(job_with("q", json!({"retry": {"max_attempts": 1}})));
        assert_eq!(who.fetch("q", 1).len(), 1);
        let body = json!({"job_id": id, "error": boom()});
        who.post("/ojs/v1/workers/nack", body).expect(200);
        let stats = who.get("/ojs/v1/dead-letter/stats").expect(200);
        assert_eq!(stats["by_queue"], json!({"q": 1}));
    }
    server.post("/ojs/v1/jobs", of_with("acme", "q", json!({}))).expect(201);
}
