//! What a tenant sees of limits, and what it may change.

use serde_json::json;

use crate::api::{assert_has, caller, enqueue_many, fresh, list, of_with, shared, start};
use crate::shorthand::{fresh_queue, text};
use crate::support::{JSON, Reply, Server};

fn put_as(server: &Server, tenant: &str, path: &str, body: serde_json::Value) -> Reply {
    let headers = [JSON, ("X-OJS-Tenant", tenant)];
    server.send("PUT", path, &headers, Some(body.to_string().as_bytes()))
}

/// A key of which two tenants have a part each, and jobs that wait for it.
struct Shared {
    key: String,
    queue: String,
    acme: String,
    beta: String,
    path: String,
}

fn share_key(server: &Server) -> Shared {
    let (key, queue) = (fresh("api"), fresh_queue());
    let (acme, beta) = (fresh("acme"), fresh("beta"));
    let limit = json!({"rate_limit": {"key": key, "concurrency": 1, "scope": "tenant"}});
    for tenant in [&acme, &beta] {
        enqueue_many(server, &of_with(tenant, &queue, limit.clone()), 2);
    }
    let path = format!("/ojs/v1/rate-limits/{key}");
    Shared { key, queue, acme, beta, path }
}

#[test]
fn a_tenant_sees_its_own_part_of_a_key_and_no_other() {
    let server = shared();
    let Shared { key, acme, beta, path, .. } = share_key(&server);
    let shown = caller(&server, &acme).get(&path).expect(200);
    assert_has(&shown, json!({"tenant_id": acme, "scope": "tenant"}));
    assert!(shown["partitions"].is_null(), "{shown}");
    caller(&server, &acme).get(&format!("{path}?tenant={beta}")).expect_error(404, "not_found");
    let listed = caller(&server, &acme).get(&format!("/ojs/v1/rate-limits?prefix={key}"));
    let listed = list(&listed.expect(200)["items"]);
    assert_eq!(listed.iter().map(|one| text(&one["tenant_id"])).collect::<Vec<_>>(), [acme]);
    caller(&server, &fresh("other")).get(&path).expect_error(404, "not_found");
}

#[test]
fn a_tenant_changes_its_own_part_and_no_other() {
    let server = shared();
    let Shared { queue, acme, beta, path, .. } = share_key(&server);
    let stop = json!({"concurrency": 0, "expires_in": "PT1H"});
    let shown = put_as(&server, &acme, &path, stop.clone()).expect(200);
    assert_has(&shown, json!({"tenant_id": acme}));
    put_as(&server, &acme, &format!("{path}?tenant={beta}"), stop).expect_error(404, "not_found");
    assert!(caller(&server, &acme).fetch(&queue, 9).is_empty());
    assert_eq!(caller(&server, &beta).fetch(&queue, 9).len(), 1);
    caller(&server, &acme).delete(&path).expect(200);
    assert_eq!(caller(&server, &acme).fetch(&queue, 9).len(), 1);
}

#[test]
fn what_is_declared_for_everyone_is_seen_and_not_touched_by_a_tenant() {
    let server = shared();
    let (key, acme, queue) = (fresh("api"), fresh("acme"), fresh_queue());
    let path = format!("/ojs/v1/rate-limits/{key}");
    server.put(&path, json!({"concurrency": 1})).expect(200);
    let shown = caller(&server, &acme).get(&path).expect(200);
    assert_has(&shown, json!({"scope": "global", "declared": true}));
    caller(&server, &acme).delete(&path).expect_error(404, "not_found");
    let more = json!({"concurrency": 9});
    put_as(&server, &acme, &path, more).expect_error(403, "forbidden");
    assert_has(&server.get(&path).expect(200)["concurrency"], json!({"limit": 1}));
    for admin in
        [format!("queues/{queue}/rate-limit"), "job-types/report.shared/rate-limit".to_owned()]
    {
        let path = format!("/ojs/v1/admin/{admin}");
        put_as(&server, &acme, &path, json!({"concurrency": 1})).expect_error(403, "forbidden");
        server.get(&path).expect_error(404, "not_found");
    }
}

#[test]
fn clearing_a_tenants_part_leaves_what_the_configuration_says() {
    let limits = json!({"api": {"concurrency": 1}}).to_string();
    let server = start(&[("ROTA_RATE_LIMITS", &limits)]);
    let own = "/ojs/v1/rate-limits/api?tenant=acme";
    server.put(own, json!({"concurrency": 3})).expect(200);
    assert_has(&server.delete(own).expect(200), json!({"declared": false}));
    let shown = server.get("/ojs/v1/rate-limits/api").expect(200);
    assert_has(&shown, json!({"declared": true}));
}

#[test]
fn omitted_numbers_of_a_limit_stay() {
    let server = shared();
    let path = format!("/ojs/v1/rate-limits/{}", fresh("api"));
    server.put(&path, json!({"concurrency": 5})).expect(200);
    let rate = json!({"limit": 9, "period": "PT1M"});
    let shown = server.put(&path, json!({"rate": rate})).expect(200);
    assert_has(&shown["declaration"], json!({"concurrency": 5, "rate": rate}));
    let shown = server.put(&path, json!({"concurrency": null})).expect(200);
    assert_has(&shown["declaration"], json!({"concurrency": null, "rate": rate}));
    server.put(&path, json!({"rate": null})).expect(200);
    server.get(&path).expect_error(404, "not_found");
}
