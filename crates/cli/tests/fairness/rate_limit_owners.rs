//! A word on a limit has an effect, or is refused.

use serde_json::json;

use crate::api::{caller, enqueue_many, fresh, limited, of, of_with, shared, start};
use crate::shorthand::{fresh_queue, text};
use crate::support::process;
use crate::watch::from_now;

fn path(key: &str) -> String {
    format!("/ojs/v1/rate-limits/{key}")
}

#[test]
fn a_tenant_cannot_change_shared_limits() {
    let server = shared();
    let (acme, queue, key) = (fresh("acme"), fresh_queue(), fresh("api"));
    server.enqueue(of(&acme, &queue));
    server.put(&path(&key), json!({"concurrency": 5})).expect(200);
    let own = caller(&server, &acme);
    for key in [format!("queue:{queue}"), "type:test.job".to_owned(), key] {
        for body in [json!({"concurrency": 0}), json!({"paused_until": from_now(60_000)})] {
            own.put(&path(&key), body).expect_error(403, "forbidden");
        }
        let shown = server.get(&format!("{}?tenant={acme}", path(&key)));
        shown.expect_error(404, "not_found");
    }
    assert_eq!(own.fetch(&queue, 1).len(), 1);
}

#[test]
fn a_tenant_changes_its_own_part_of_a_key() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    // Without a key of their own, the jobs' key is that of their queue.
    let limit = json!({"rate_limit": {"concurrency": 2, "scope": "tenant"}});
    enqueue_many(&server, &of_with(&acme, &queue, limit), 2);
    let own = caller(&server, &acme);
    own.put(&path(&format!("queue:{queue}")), json!({"concurrency": 0})).expect(200);
    assert!(own.fetch(&queue, 9).is_empty());
}

#[test]
fn an_operator_cannot_change_one_tenants_part_of_a_shared_key() {
    let server = shared();
    let key = format!("queue:{}", fresh_queue());
    let error = server.put(&format!("{}?tenant=acme", path(&key)), json!({"concurrency": 0}));
    assert_eq!(error.expect(422)["error"]["details"]["field"], "tenant");
    server.get(&path(&key)).expect_error(404, "not_found");
}

#[test]
fn a_tenants_part_of_a_key_that_all_count_together_would_hold_no_job() {
    let server = shared();
    let (acme, queue, key) = (fresh("acme"), fresh_queue(), fresh("api"));
    let limit = json!({"rate_limit": {"key": key, "concurrency": 5}});
    server.enqueue(of_with(&acme, &queue, limit));
    for body in [json!({"concurrency": 0}), json!({"paused_until": from_now(60_000)})] {
        let of_tenant = caller(&server, &acme).put(&path(&key), body.clone());
        let of_operator = server.put(&format!("{}?tenant={acme}", path(&key)), body);
        for answer in [of_tenant, of_operator] {
            let error = answer.expect(422)["error"].clone();
            assert_eq!(error["details"]["field"], "tenant", "{error}");
        }
    }
    assert_eq!(server.fetch(&queue, 9).len(), 1);
}

#[test]
fn a_key_that_is_counted_for_each_tenant_is_changed_for_one() {
    let server = shared();
    let (acme, queue, key) = (fresh("acme"), fresh_queue(), fresh("api"));
    let limit = json!({"rate_limit": {"key": key, "concurrency": 5, "scope": "tenant"}});
    server.enqueue(of_with(&acme, &queue, limit));
    for body in [
        json!({"concurrency": 0}),
        json!({"concurrency": 0, "expires_in": "PT1H"}),
        json!({"paused_until": from_now(60_000)}),
        json!({"paused_until": null}),
    ] {
        let error = server.put(&path(&key), body).expect(422)["error"].clone();
        assert!(text(&error["hint"]).contains("?tenant="), "{error}");
    }
    let part = format!("{}?tenant={acme}", path(&key));
    server.put(&part, json!({"concurrency": 0})).expect(200);
    assert!(server.fetch(&queue, 9).is_empty());
    // As soon as jobs share it, there is something to speak of.
    server.enqueue(limited(&queue, json!({"key": key, "concurrency": 5})));
    server.put(&path(&key), json!({"concurrency": 0})).expect(200);
    assert!(server.fetch(&queue, 9).is_empty());
}

#[test]
fn in_namespaces_a_key_is_declared_although_tenants_have_their_own() {
    let server = start(&[("ROTA_TENANCY_ISOLATION", "namespace")]);
    let own = json!({"rate_limit": {"key": "api", "concurrency": 1}});
    server.enqueue(of_with("acme", "q", own));
    server.put(&path("api"), json!({"paused_until": from_now(60_000)})).expect(422);
    server.put(&path("api"), json!({"concurrency": 3})).expect(200);
    let all = json!({"rate_limit": {"key": "api", "concurrency": 9, "scope": "global"}});
    server.enqueue(of_with("acme", "q", all));
}

#[test]
fn a_name_that_no_queue_or_type_can_have_is_refused() {
    let server = shared();
    for key in ["queue:", "queue:a_b", "queue:UP", "type:", "type:BAD", "type:a..b"] {
        let error = server.put(&path(key), json!({"concurrency": 1})).expect(422)["error"].clone();
        assert!(text(&error["message"]).contains(&format!("'{key}'")), "{error}");
    }
}

#[test]
fn a_pause_ends_in_the_future() {
    let server = shared();
    let key = fresh("api");
    for past in [from_now(-1), from_now(-3_600_000), "1970-01-01T00:00:01Z".to_owned()] {
        let error = server.put(&path(&key), json!({"paused_until": past})).expect(422);
        assert_eq!(error["error"]["details"]["field"], "paused_until");
    }
    server.get(&path(&key)).expect_error(404, "not_found");
}

#[test]
fn what_is_not_known_is_neither_resumed_nor_cleared() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    for body in [json!({"paused_until": null}), json!({"concurrency": null, "rate": null})] {
        server.put(&path(&key), body).expect_error(404, "not_found");
    }
    server.delete(&path(&key)).expect_error(404, "not_found");
    let of_queue = format!("/ojs/v1/admin/queues/{queue}/rate-limit");
    let named = format!("There is no rate limit 'queue:{queue}'.");
    for reply in [
        server.get(&of_queue),
        server.delete(&of_queue),
        server.put(&of_queue, json!({"paused_until": null})),
    ] {
        assert_eq!(reply.expect_error(404, "not_found")["message"], named);
    }
    let url = server.url("");
    for what in ["resume", "clear"] {
        let ended = process::run(&["limits", what, &key], &[("ROTA_URL", &url)]);
        assert_eq!(ended.code, Some(4), "{ended:?}");
    }
}
