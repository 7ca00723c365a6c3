//! The audit log: who did what, who was refused, and how much of it is kept.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::shorthand::{ack, job_on, take};
use crate::support::Server;

const LOG: &str = "/ojs/v1/admin/audit";

fn entries(server: &Server, query: &str) -> Vec<Value> {
    let body = server.get(&format!("{LOG}?limit=1000&order=asc&{query}")).expect(200);
    body["items"].as_array().unwrap().clone()
}

/// Asks until the log looks like this.
#[track_caller]
fn wait_until(server: &Server, query: &str, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let found = entries(server, query);
        if is_so(&found) {
            return found;
        }
        assert!(Instant::now() < until, "still {found:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn as_tenant(server: &Server, tenant: &str, method: &str, path: &str) -> crate::support::Reply {
    server.send(method, path, &[("X-OJS-Tenant", tenant)], None)
}

/// A tenant can pause its part of a queue that it has jobs in.
fn enqueue_as(server: &Server, tenant: &str, queue: &str) {
    let body = job_on(queue).to_string();
    let headers = [crate::support::JSON, ("X-OJS-Tenant", tenant)];
    server.send("POST", "/ojs/v1/jobs", &headers, Some(body.as_bytes())).expect(201);
}

fn count(entry: &Value) -> u64 {
    entry["detail"]["count"].as_u64().unwrap_or(1)
}

fn events(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["event_type"].as_str().unwrap()).collect()
}

#[test]
fn an_act_says_who_did_what_and_why_and_is_there_after_a_crash() {
    let mut server = Server::start();
    let body = json!({"max_concurrency": 5, "reason": "their API is down"});
    let headers = [crate::support::JSON, ("X-Request-Id", "req-42")];
    let path = "/ojs/v1/admin/tenants/acme/limits";
    let answer = server.send("PUT", path, &headers, Some(body.to_string().as_bytes()));
    answer.expect(200);
    // The answer means that both the change and the entry are committed.
    server.kill();
    server.restart();
    let entries = entries(&server, "");
    let [entry] = &entries[..] else { panic!("{entries:#?}") };
    assert_eq!(entry["event_type"], "tenant.configure");
    assert_eq!(entry["outcome"], "success");
    assert_eq!(entry["principal"], "operator");
    assert_eq!(entry["auth_method"], "none");
    assert_eq!(entry["source_ip"], "127.0.0.1");
    assert_eq!(entry["correlation_id"], "req-42");
    assert_eq!(entry["number"], 1);
    assert_eq!(
        entry["detail"],
        json!({
            "method": "PUT",
            "route": "/ojs/v1/admin/tenants/{id}/limits",
            "resource": "acme",
            "reason": "their API is down",
        })
    );
    assert_eq!(entry["hash"].as_str().unwrap().len(), 64);
    let limits = server.get("/ojs/v1/admin/tenants/acme/limits").expect(200);
    assert_eq!(limits["limits"]["max_concurrency"]["limit"], 5, "{limits}");
}

#[test]
fn ordinary_work_is_not_audited_and_bodies_never_are() {
    let server = Server::start();
    let id = server.enqueue(job_on("q"));
    take(&server, "q");
    ack(&server, &id);
    let cron =
        json!({"name": "nightly", "expression": "@daily", "type": "a.b", "args": ["s3cret"]});
    server.post("/ojs/v1/cron", cron).expect(201);
    let cancelled = server.enqueue(job_on("q"));
    server.delete(&format!("/ojs/v1/jobs/{cancelled}")).expect(200);
    let log = server.get(LOG);
    assert!(!log.text.contains("s3cret"), "{}", log.text);
    let entries = entries(&server, "");
    assert_eq!(events(&entries), ["cron.create", "job.cancel"]);
    assert_eq!(entries[0]["detail"]["resource"], "nightly", "named in the body");
    assert_eq!(entries[1]["detail"]["resource"], *cancelled);
    assert_eq!(entries[1]["detail"]["jobs"], 1);
}

#[test]
fn repeated_refusals_are_counted_in_one_entry() {
    let server = Server::start_with(&["--audit-interval", "1s"]);
    for _ in 0..30 {
        as_tenant(&server, "acme", "PUT", "/ojs/v1/admin/tenants/other")
            .expect_error(403, "forbidden");
        as_tenant(&server, "acme", "GET", "/ojs/v1/admin/system/config")
            .expect_error(403, "forbidden");
    }
    let refused = |entries: &[Value]| entries.iter().map(count).sum::<u64>() == 60;
    let entries = wait_until(&server, "action=auth.permission_denied", refused);
    assert!(entries.len() < 30, "{}", entries.len());
    let routes: Vec<_> = entries.iter().map(|entry| &entry["detail"]["route"]).collect();
    assert!(routes.contains(&&json!("/ojs/v1/admin/tenants/{id}")), "{routes:?}");
    for entry in &entries {
        assert_eq!((&entry["principal"], &entry["tenant_id"]), (&json!("acme"), &json!("acme")));
        assert_eq!(entry["outcome"], "failure");
        assert_eq!(entry["detail"]["status"], 403);
    }
    // Acts that fail otherwise are counted as well.
    for _ in 0..3 {
        server.post("/ojs/v1/queues/never/purge", json!({"states": 1})).expect(400);
    }
    let failed = |entries: &[Value]| entries.iter().map(count).sum::<u64>() == 3;
    let entries = wait_until(&server, "action=queue.purge&outcome=failure", failed);
    assert_eq!(entries[0]["detail"]["status"], 400);
}

#[test]
fn what_was_counted_is_written_when_the_server_stops() {
    let mut server = Server::start_with(&["--audit-interval", "1h"]);
    as_tenant(&server, "acme", "GET", "/ojs/v1/admin/system/config").expect(403);
    assert!(entries(&server, "").is_empty());
    assert!(server.terminate().success());
    server.restart();
    assert_eq!(events(&entries(&server, "")), ["auth.permission_denied"]);
}

#[test]
fn a_tenant_sees_its_own_entries_without_numbers() {
    let server = Server::start();
    for queue in ["a", "b", "c"] {
        enqueue_as(&server, "acme", queue);
        enqueue_as(&server, "other", queue);
        as_tenant(&server, "acme", "POST", &format!("/ojs/v1/queues/{queue}/pause")).expect(200);
        as_tenant(&server, "other", "POST", &format!("/ojs/v1/queues/{queue}/pause")).expect(200);
        server.post("/ojs/v1/admin/queues", json!({"name": format!("{queue}2")})).expect(201);
    }
    let page = as_tenant(&server, "acme", "GET", &format!("{LOG}?limit=2")).expect(200);
    let more = page["pagination"]["next_cursor"].as_str().unwrap();
    assert!(page.get("head").is_none());
    let rest =
        as_tenant(&server, "acme", "GET", &format!("{LOG}?limit=2&cursor={more}")).expect(200);
    assert_eq!(rest["pagination"]["has_more"], false);
    let items = page["items"].as_array().unwrap().iter().chain(rest["items"].as_array().unwrap());
    let items: Vec<_> = items.collect();
    let named: Vec<_> = items.iter().map(|item| &item["detail"]["resource"]).collect();
    assert_eq!(named, ["c", "b", "a"], "the newest first");
    for item in items {
        assert_eq!(item["tenant_id"], "acme");
        assert!(item.get("number").is_none() && item.get("hash").is_none(), "{item}");
    }
    as_tenant(&server, "acme", "GET", &format!("{LOG}?tenant=other"))
        .expect_error(403, "forbidden");
    as_tenant(&server, "acme", "GET", &format!("{LOG}?cursor=3")).expect(400);
    assert_eq!(entries(&server, "tenant=other").len(), 3);
    assert_eq!(entries(&server, "").len(), 9);
}

#[test]
fn entries_are_listed_by_page_and_by_filter() {
    let server = Server::start();
    for queue in ["a", "b", "c"] {
        server.post(&format!("/ojs/v1/queues/{queue}/pause"), json!({})).expect(200);
        server.post(&format!("/ojs/v1/queues/{queue}/resume"), json!({})).expect(200);
    }
    let page = server.get(&format!("{LOG}?limit=4")).expect(200);
    let numbers = |page: &Value| -> Vec<u64> {
        page["items"].as_array().unwrap().iter().map(|i| i["number"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&page), [6, 5, 4, 3]);
    let cursor = page["pagination"]["next_cursor"].as_str().unwrap();
    let rest = server.get(&format!("{LOG}?limit=4&cursor={cursor}")).expect(200);
    assert_eq!(numbers(&rest), [2, 1]);
    assert_eq!(entries(&server, "action=queue.pause").len(), 3);
    assert_eq!(entries(&server, "action=queue").len(), 6);
    assert_eq!(entries(&server, "subject=operator").len(), 6);
    assert_eq!(entries(&server, "subject=acme").len(), 0);
    assert_eq!(entries(&server, "outcome=failure").len(), 0);
    let third = entries(&server, "")[2]["timestamp"].as_str().unwrap().to_owned();
    let since = entries(&server, &format!("since={third}")).len();
    let until = entries(&server, &format!("until={third}")).len();
    assert_eq!(since + until, 6);
    for bad in ["outcome=maybe", "order=up", "cursor=x", "since=soon", "colour=red", "tenant=a%20b"]
    {
        server.get(&format!("{LOG}?{bad}")).expect(400);
    }
}

#[test]
fn only_the_newest_entries_are_kept_and_the_rest_still_fits_together() {
    let server = Server::start_with(&["--audit-max-entries", "5"]);
    for _ in 0..12 {
        server.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    }
    let kept = wait_until(&server, "", |entries| entries.len() == 5);
    assert_eq!(kept[0]["number"], 8);
    let head = server.get(LOG).expect(200)["head"].clone();
    assert_eq!((&head["first"], &head["next"]), (&json!(8), &json!(13)));
    assert_eq!(head["last"], kept[4]["hash"]);
    assert_ne!(head["anchor"], "0".repeat(64));
}

#[test]
fn a_busy_tenant_does_not_displace_the_entries_of_others() {
    let server = Server::start_with(&["--audit-acts-per-tenant", "3", "--audit-interval", "1h"]);
    enqueue_as(&server, "loud", "q");
    enqueue_as(&server, "quiet", "q");
    for _ in 0..10 {
        as_tenant(&server, "loud", "POST", "/ojs/v1/queues/q/pause").expect(200);
    }
    as_tenant(&server, "quiet", "POST", "/ojs/v1/queues/q/pause").expect(200);
    for _ in 0..10 {
        server.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    }
    assert_eq!(entries(&server, "tenant=loud").len(), 3);
    assert_eq!(entries(&server, "tenant=quiet").len(), 1);
    assert_eq!(entries(&server, "subject=operator").len(), 10, "operators have no such bound");
}

#[test]
fn the_acts_of_a_busy_tenant_are_counted() {
    let server = Server::start_with(&["--audit-acts-per-tenant", "0", "--audit-interval", "1s"]);
    enqueue_as(&server, "loud", "q");
    for _ in 0..10 {
        as_tenant(&server, "loud", "POST", "/ojs/v1/queues/q/pause").expect(200);
    }
    let all = |entries: &[Value]| entries.iter().map(count).sum::<u64>() == 10;
    let entries = wait_until(&server, "tenant=loud&outcome=success", all);
    assert!(entries.iter().all(|entry| entry["event_type"] == "queue.pause"));
}

#[test]
fn an_act_in_several_steps_says_at_its_end_how_many_jobs_it_changed() {
    let server = Server::start();
    // More than one command changes at once.
    let jobs: Vec<Value> = (0..1_000).map(|_| job_on("q")).collect();
    for _ in 0..3 {
        server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})).expect(201);
    }
    let body = json!({"filter": {"queue": "q"}, "confirm": true});
    let done = server.post("/ojs/v1/admin/jobs/bulk/cancel", body).expect(200);
    assert_eq!(done["matched"].as_u64().or(done["succeeded"].as_u64()), Some(3_000), "{done}");
    let entries = wait_until(&server, "action=job.bulk", |entries| entries.len() == 2);
    assert!(entries[0]["detail"]["jobs"].as_u64().unwrap() < 3_000);
    assert_eq!(entries[1]["detail"]["jobs"], 3_000);
    assert_eq!(entries[1]["detail"]["completes"], true);
    assert_eq!(entries[0]["correlation_id"], entries[1]["correlation_id"]);
}
