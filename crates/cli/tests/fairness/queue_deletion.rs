//! Deleting queues.

use serde_json::json;

use crate::api::{
    assert_has, caller, enqueue_many, fetch, fresh, of, put_tenant, shared, start, state,
};
use crate::shorthand::{ack, eventually, fresh_queue, ids, job_on};
use crate::support::{JSON, Server};

fn at(queue: &str) -> String {
    format!("/ojs/v1/admin/queues/{queue}")
}

fn is_listed(server: &Server, queue: &str) -> bool {
    let queues = server.get("/ojs/v1/queues?limit=200").expect(200)["queues"].clone();
    queues.as_array().unwrap().iter().any(|known| known["name"] == queue)
}

#[test]
fn a_queue_with_live_jobs_is_not_deleted() {
    let (server, queue) = (start(&[]), fresh_queue());
    let sent = enqueue_many(&server, &job_on(&queue), 2);
    let error = server.delete(&at(&queue)).expect_error(409, "conflict");
    assert_eq!(error["details"]["live_jobs"], 2, "{error}");
    assert_eq!(ids(&server.fetch(&queue, 9)), sent);
    server.delete(&at(&queue)).expect_error(409, "conflict");
    sent.iter().for_each(|id| drop(ack(&server, id)));
    let answer = server.delete(&at(&queue)).expect(200);
    assert_has(&answer, json!({"deleted": true, "name": queue, "purged_jobs": 0}));
    assert!(!is_listed(&server, &queue));
    server.get(&at(&queue)).expect_error(404, "not_found");
    server.delete(&at(&queue)).expect_error(404, "not_found");
    assert_eq!(state(&server, &sent[0]), "completed", "finished jobs are kept");
    let jobs = server.get(&format!("/ojs/v1/admin/jobs?queue={queue}")).expect(200);
    assert_eq!(jobs["pagination"]["total"], 2, "{jobs}");
}

#[test]
fn settings_pauses_limit_and_statistics_go_with_a_queue() {
    let (mut server, queue, acme) = (start(&[]), fresh_queue(), fresh("acme"));
    let first = server.enqueue(of(&acme, &queue));
    ids(&server.fetch(&queue, 1));
    ack(&server, &first);
    server.put(&format!("{}/config", at(&queue)), json!({"concurrency": 1})).expect(200);
    server.put(&format!("{}/rate-limit", at(&queue)), json!({"concurrency": 0})).expect(200);
    server.post(&format!("{}/pause", at(&queue)), json!({})).expect(200);
    caller(&server, &acme).post(&format!("{}/pause", at(&queue)), json!({})).expect(200);
    server.delete(&at(&queue)).expect(200);
    server.get(&format!("/ojs/v1/rate-limits/queue:{queue}")).expect(404);
    for restarted in [false, true] {
        if restarted {
            server.restart();
        }
        assert!(!is_listed(&server, &queue), "restarted: {restarted}");
    }
    let again = enqueue_many(&server, &of(&acme, &queue), 2);
    assert_eq!(ids(&server.fetch(&queue, 9)), again, "nothing holds its jobs back");
    let shown = server.get(&at(&queue)).expect(200);
    assert_eq!(
        (&shown["paused"], &shown["configuration"]["concurrency"]),
        (&json!(false), &json!(null))
    );
    let hour = server.get(&format!("/ojs/v1/queues/{queue}/stats")).expect(200);
    assert_eq!(hour["stats"]["completed_last_hour"], 0, "{hour}");
}

#[test]
fn a_purge_of_a_queue_must_be_confirmed() {
    let (server, queue, other) = (shared(), fresh_queue(), fresh_queue());
    let path = format!("{}?purge=true", at(&queue));
    let sent = enqueue_many(&server, &job_on(&queue), 3);
    let kept = enqueue_many(&server, &job_on(&other), 1);
    assert_eq!(ids(&server.fetch(&queue, 1)), sent[..1]);
    server.delete(&path).expect_error(400, "invalid_request");
    assert_eq!(state(&server, &sent[1]), "available");
    let answer = server.send("DELETE", &path, &[JSON], Some(br#"{"confirm": true}"#)).expect(200);
    assert_eq!((&answer["deleted"], &answer["purged_jobs"]), (&json!(true), &json!(3)));
    assert_eq!(state(&server, &sent[0]), "cancelled");
    server.get(&format!("/ojs/v1/jobs/{}", sent[1])).expect(404);
    assert_eq!(ids(&server.fetch(&other, 9)), kept);
    enqueue_many(&server, &job_on(&queue), 1);
    let path = format!("{path}&confirm=true");
    assert_eq!(server.delete(&path).expect(200)["purged_jobs"], 1);
}

#[test]
fn what_a_deletion_does_not_know_is_refused() {
    let (server, queue) = (shared(), fresh_queue());
    enqueue_many(&server, &job_on(&queue), 1);
    let bad = server.delete(&format!("{}?purge=true&confirm=true&force=1", at(&queue)));
    assert!(bad.expect(400)["error"]["message"].to_string().contains("force"));
    let body = br#"{"purge": true, "confirm": true, "reason": "x"}"#;
    let bad = server.send("DELETE", &at(&queue), &[JSON], Some(body));
    assert!(bad.expect(422)["error"]["message"].to_string().contains("reason"));
    for query in ["?purge=maybe&confirm=true", "?purge=1", "?purge=true&confirm=yes"] {
        server.delete(&format!("{}{query}", at(&queue))).expect(400);
    }
    let body = br#"{"purge": false}"#;
    let path = format!("{}?purge=true&confirm=true", at(&queue));
    server.send("DELETE", &path, &[JSON], Some(body)).expect(400);
    assert!(is_listed(&server, &queue));
}

#[test]
fn a_tenant_does_not_delete_what_others_share() {
    let (server, queue, acme) = (shared(), fresh_queue(), fresh("acme"));
    let sent = server.enqueue(of(&acme, &queue));
    for path in [at(&queue), format!("{}?purge=true&confirm=true", at(&queue)), at("nosuch")] {
        caller(&server, &acme).delete(&path).expect_error(403, "forbidden");
    }
    assert_eq!(state(&server, &sent), "available");
}

#[test]
fn in_namespaces_a_tenant_deletes_its_own_queue_only() {
    let server = start(&[("ROTA_TENANCY_ISOLATION", "namespace")]);
    let (acme, beta) = (caller(&server, "acme"), caller(&server, "beta"));
    let (own, others) = (acme.enqueue(job_on("q")), beta.enqueue(job_on("q")));
    server.delete(&at("q")).expect(422);
    let answer = acme.delete(&format!("{}?purge=true&confirm=true", at("q"))).expect(200);
    assert_eq!((&answer["name"], &answer["purged_jobs"]), (&json!("q"), &json!(1)));
    acme.get(&format!("/ojs/v1/jobs/{own}")).expect(404);
    acme.get(&at("q")).expect(404);
    assert_eq!(ids(&beta.fetch("q", 9)), [others]);
}

#[test]
fn a_deleted_queue_comes_back_in_its_pools_and_for_who_waits() {
    let (server, queue) = (start(&[]), fresh_queue());
    server.put("/ojs/v1/admin/pools/p", json!({"queues": [queue]})).expect(201);
    let first = server.enqueue(job_on(&queue));
    let served = fetch(&server, json!({"pool": "p", "count": 1}));
    assert_eq!(ids(&served), std::slice::from_ref(&first));
    ack(&server, &first);
    std::thread::scope(|scope| {
        let ask = json!({"pool": "p", "count": 1, "wait_ms": 30_000});
        let waiting = scope.spawn(|| fetch(&server, ask));
        eventually("the fetch waits", || {
            server.get("/metrics").text.contains("ojs_workers_waiting 1\n").then_some(())
        });
        server.delete(&at(&queue)).expect(200);
        let pool = server.get("/ojs/v1/admin/pools/p").expect(200);
        assert_eq!(pool["queues"], json!([queue]));
        let second = server.enqueue(job_on(&queue));
        assert_eq!(ids(&waiting.join().unwrap()), [second]);
    });
    assert!(is_listed(&server, &queue));
}

#[test]
fn a_finished_job_that_is_retried_brings_its_queue_back() {
    let (server, queue, acme) = (start(&[]), fresh_queue(), fresh("acme"));
    put_tenant(&server, &acme, json!({"fairness_weight": 2}));
    let sent = server.enqueue(of(&acme, &queue));
    server.delete(&format!("/ojs/v1/jobs/{sent}")).expect(200);
    server.delete(&at(&queue)).expect(200);
    server.post(&format!("/ojs/v1/admin/jobs/{sent}/retry"), json!({})).expect(200);
    assert!(is_listed(&server, &queue));
    assert_eq!(ids(&server.fetch(&queue, 1)), [sent]);
}
