//! Inspecting, overriding and listing limits.

use serde_json::json;

use crate::api::{
    assert_has, assert_members, caller, enqueue_many, fresh, limited, list, of_with, partition,
    shared, start,
};
use crate::shorthand::{ack, eventually, fresh_queue, ids, millis, now_ms, text};
use crate::watch::from_now;

fn path(key: &str) -> String {
    format!("/ojs/v1/rate-limits/{key}")
}

#[test]
fn a_partition_is_shown_with_all_its_numbers() {
    let server = shared();
    let (key, queue) = (fresh("stripe-api"), fresh_queue());
    let limit = json!({"key": key, "concurrency": 5, "rate": {"limit": 3, "period": "PT1M"},
        "throttle": {"limit": 1000, "period": "PT1S"}});
    enqueue_many(&server, &limited(&queue, limit), 4);
    crate::watch::fetch_patiently(&server, &queue, 3);
    let shown = partition(&server, &key);
    assert_has(
        &shown,
        json!({"key": key, "scope": "global", "on_limit": "wait", "waiting_count": 1,
            "paused_until": null, "override": null, "declared": false, "mixed": false}),
    );
    assert_has(&shown["concurrency"], json!({"limit": 5, "active": 3, "available": 2}));
    assert_has(&shown["rate"], json!({"limit": 3, "period": "PT1M", "current_count": 3}));
    let resets = millis(&shown["rate"]["window_resets_at"]);
    assert!(resets > now_ms() - 1000 && resets <= now_ms() + 61_000, "{shown}");
    assert_has(&shown["throttle"], json!({"limit": 1000, "period": "PT1S"}));
    assert_members(&shown["throttle"], &["next_allowed_at"]);
}

#[test]
fn a_key_that_nobody_used_is_unknown() {
    let server = shared();
    server.get(&path(&fresh("nothing"))).expect_error(404, "not_found");
    server.delete(&path(&fresh("nothing"))).expect_error(404, "not_found");
}

#[test]
fn a_tenant_scoped_key_is_shown_by_tenant() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let tenants = [fresh("acme"), fresh("beta")];
    for (n, tenant) in tenants.iter().enumerate() {
        let limit = json!({"key": key, "concurrency": 1, "scope": "tenant"});
        enqueue_many(&server, &of_with(tenant, &queue, json!({"rate_limit": limit})), n + 2);
    }
    server.fetch(&queue, 9);
    for (n, tenant) in tenants.iter().enumerate() {
        let shown = server.get(&format!("{}?tenant={tenant}", path(&key))).expect(200);
        assert_has(&shown, json!({"scope": "tenant", "tenant_id": tenant, "waiting_count": n + 1}));
    }
    let all = list(&partition(&server, &key)["partitions"]);
    let mut named: Vec<String> = all.iter().map(|one| text(&one["tenant_id"])).collect();
    named.sort();
    assert_eq!(named, tenants);
    // One that is slowed down does not slow the other.
    let of_one = format!("{}?tenant={}", path(&key), tenants[0]);
    server.put(&of_one, json!({"concurrency": 0, "expires_in": "PT1H"})).expect(200);
    let other = server.get(&format!("{}?tenant={}", path(&key), tenants[1])).expect(200);
    assert_eq!(other["concurrency"]["limit"], 1);
}

#[test]
fn an_override_replaces_all_numbers_while_it_lasts() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 2);
    enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 9})), 2);
    let until = from_now(3_600_000);
    let body = json!({"concurrency": 0, "expires_at": until, "reason": "the API is down"});
    let shown = server.put(&path(&key), body).expect(200);
    assert_has(&shown["override"], json!({"concurrency": 0, "reason": "the API is down"}));
    assert_eq!(millis(&shown["override"]["expires_at"]), millis(&json!(until)));
    assert!(server.fetch(&queue, 9).is_empty());
    server.put(&path(&key), json!({"concurrency": 3, "expires_in": "PT1H"})).expect(200);
    assert_eq!(server.fetch(&queue, 9).len(), 3);
}

#[test]
fn an_override_can_be_cleared() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 2);
    server.put(&path(&key), json!({"concurrency": 0, "expires_in": "PT1H"})).expect(200);
    assert!(server.fetch(&queue, 9).is_empty());
    let shown = server.delete(&path(&key)).expect(200);
    assert_has(&shown, json!({"key": key, "override": null}));
    assert_eq!(server.fetch(&queue, 9).len(), 1);
}

#[test]
fn an_override_ends_by_itself() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let sent = enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 2);
    let lasting = |span: &str| {
        server.put(&path(&key), json!({"concurrency": 2, "expires_in": span})).expect(200)
    };
    lasting("PT1H");
    assert_eq!(server.fetch(&queue, 9).len(), 2);
    lasting("PT0.3S");
    eventually("the override has ended", || {
        partition(&server, &key)["override"].is_null().then_some(())
    });
    enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 1);
    ack(&server, &sent[0]);
    assert!(server.fetch(&queue, 9).is_empty(), "one is still active");
}

#[test]
fn an_override_survives_a_kill() {
    let mut server = start(&[]);
    enqueue_many(&server, &limited("q", json!({"key": "api", "concurrency": 5})), 3);
    server.put(&path("api"), json!({"concurrency": 1, "expires_in": "PT1H"})).expect(200);
    server.kill();
    server.restart();
    assert_eq!(partition(&server, "api")["override"]["concurrency"], 1);
    assert_eq!(server.fetch("q", 9).len(), 1);
}

#[test]
fn overrides_that_make_no_sense_are_refused() {
    let server = shared();
    server.put(&path(&fresh("api")), json!({"concurrency": 1, "expires_in": "PT1H"})).expect(200);
    for bad in [
        json!({"concurrency": -1, "expires_in": "PT1H"}),
        json!({"concurrency": "none"}),
        json!({"rate": {"limit": 1}}),
        json!({"concurrency": 1, "expires_at": "tomorrow"}),
        json!({"concurrency": 1, "expires_in": "a while"}),
        json!({"concurency": 1}),
    ] {
        let status = server.put(&path(&fresh("api")), bad.clone()).status;
        assert!(matches!(status, 400 | 422), "{status} for {bad}");
    }
    assert!(matches!(server.put(&path("-bad"), json!({"concurrency": 1})).status, 400 | 422));
}

#[test]
fn limits_are_listed_in_pages_and_by_prefix() {
    let server = start(&[]);
    for n in 0..5 {
        let key = format!("api-{n}");
        enqueue_many(&server, &limited("q", json!({"key": key, "concurrency": 1})), 2);
    }
    server.enqueue(limited("q", json!({"key": "other", "rate": {"limit": 9, "period": "PT1M"}})));
    server.fetch("q", 99);
    let page = |query: &str| server.get(&format!("/ojs/v1/rate-limits?{query}")).expect(200);
    let all = page("prefix=api-");
    assert_eq!(all["pagination"]["total"], 5);
    for one in list(&all["items"]) {
        assert_has(&one, json!({"waiting_count": 1}));
        assert_has(&one["concurrency"], json!({"limit": 1, "active": 1}));
    }
    let mut keys = Vec::new();
    for n in 1..=3 {
        let part = page(&format!("per_page=2&page={n}"));
        assert_has(&part["pagination"], json!({"total": 6, "page": n, "per_page": 2}));
        keys.extend(list(&part["items"]).iter().map(|one| text(&one["key"])));
    }
    keys.sort();
    assert_eq!(keys, ["api-0", "api-1", "api-2", "api-3", "api-4", "other"]);
    let (mut followed, mut cursor) = (Vec::new(), String::new());
    loop {
        let part = page(&format!("per_page=2{cursor}"));
        followed.extend(list(&part["items"]).iter().map(|one| text(&one["key"])));
        let Some(next) = part["pagination"]["next_cursor"].as_str() else { break };
        assert_eq!(part["pagination"]["has_more"], true);
        cursor = format!("&cursor={next}");
    }
    assert_eq!(followed, keys);
    for query in ["cursor=nonsense", "kind=rate", "page=60000"] {
        let refused = server.get(&format!("/ojs/v1/rate-limits?per_page=2&{query}"));
        assert!(matches!(refused.status, 400 | 422), "{query}: {}", refused.status);
    }
    let ended = ids(&server.fetch("q", 99));
    assert!(ended.is_empty());
}

#[test]
fn a_tenant_follows_cursors_through_its_own_limits_only() {
    let server = start(&[]);
    for n in 0..7 {
        for tenant in ["acme", "globex"] {
            let limit = json!({"key": format!("k{n}"), "scope": "tenant", "concurrency": 1});
            let mut job = limited("q", limit);
            job["meta"] = json!({"tenant_id": tenant});
            server.enqueue(job);
        }
    }
    let (mut followed, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/ojs/v1/rate-limits?per_page=3{cursor}");
        let part = caller(&server, "acme").get(&path).expect(200);
        for one in list(&part["items"]) {
            assert_eq!(one["tenant_id"], "acme");
            followed.push(text(&one["key"]));
        }
        let Some(next) = part["pagination"]["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(followed, (0..7).map(|n| format!("k{n}")).collect::<Vec<_>>());
}
