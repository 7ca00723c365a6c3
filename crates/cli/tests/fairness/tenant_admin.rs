//! Tenants under the operator's hand: showing, listing and changing them.

use serde_json::{Value, json};

use crate::api::{
    assert_has, assert_members, caller, enqueue_many, fresh, list, of, of_with, put_tenant, shared,
    start, tenant_stats, tenants,
};
use crate::shorthand::{ack, boom, fresh_queue, ids, nack, text};
use crate::support::JSON;

fn seed_config(id: &str) -> Value {
    json!({"tenant_id": id, "limits": {"max_concurrency": 20,
        "max_enqueue_rate": {"limit": 1000, "period": "PT1M"}, "max_queue_depth": 50000,
        "max_scheduled": 10000, "max_bytes": 5_000_000_000_u64}, "fairness_weight": 10, "priority_boost": 0})
}

#[test]
fn a_tenant_is_created_shown_and_replaced() {
    let server = shared();
    let acme = fresh("acme-corp");
    let path = format!("/ojs/v1/admin/tenants/{acme}");
    server.get(&path).expect_error(404, "not_found");
    let config = seed_config(&acme);
    let shown = server.put(&path, config.clone()).expect(201);
    assert_has(&shown, config);
    assert_has(&shown, json!({"origin": "api", "quota": "hard", "throttle": null}));
    assert_eq!(shown["tenant"]["tenant_id"], acme);
    assert_members(&shown, &["created_at", "updated_at", "stats"]);
    let again = server.get(&path).expect(200);
    assert_eq!(again["limits"], shown["limits"]);
    let replaced = server.put(&path, json!({"fairness_weight": 2})).expect(200);
    assert_has(&replaced, json!({"fairness_weight": 2}));
    assert!(replaced["limits"]["max_queue_depth"].is_null(), "{replaced}");
}

#[test]
fn limits_merge_what_is_given() {
    let server = shared();
    let acme = fresh("acme");
    put_tenant(&server, &acme, seed_config(&acme));
    let path = format!("/ojs/v1/admin/tenants/{acme}/limits");
    let why = "Incident response: reducing capacity during downstream outage";
    let shown = server.put(&path, json!({"max_concurrency": 5, "reason": why})).expect(200);
    assert_has(&shown["limits"], json!({"max_concurrency": 5, "max_queue_depth": 50000}));
    assert_has(&shown, json!({"fairness_weight": 10, "reason": why}));
    let wrapped =
        json!({"limits": {"max_scheduled": null}, "priority_boost": 3, "max_priority": 7});
    let shown = server.put(&path, wrapped).expect(200);
    assert!(shown["limits"]["max_scheduled"].is_null());
    assert_has(&shown["limits"], json!({"max_concurrency": 5}));
    assert_has(&shown, json!({"priority_boost": 3, "max_priority": 7}));
    assert!(matches!(server.put(&path, json!({"max_speed": 5})).status, 400 | 422));
}

#[test]
fn limits_of_a_tenant_that_was_never_seen_create_it() {
    let server = shared();
    let acme = fresh("acme");
    let path = format!("/ojs/v1/admin/tenants/{acme}/limits");
    server.put(&path, json!({"max_concurrency": 5})).expect(200);
    let shown = server.get(&format!("/ojs/v1/admin/tenants/{acme}")).expect(200);
    assert_has(&shown["limits"], json!({"max_concurrency": 5}));
}

#[test]
fn limits_are_shown_with_what_is_used_of_them() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_concurrency": 5, "max_queue_depth": 9}}));
    enqueue_many(&server, &of(&acme, &queue), 4);
    server.fetch(&queue, 1);
    let shown = server.get(&format!("/ojs/v1/admin/tenants/{acme}/limits")).expect(200);
    assert_has(&shown["limits"]["max_concurrency"], json!({"limit": 5, "current": 1}));
    assert_has(&shown["limits"]["max_queue_depth"], json!({"limit": 9, "current": 3}));
}

#[test]
fn statistics_count_what_the_tenant_has() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_concurrency": 20}, "fairness_weight": 10}));
    let sent =
        enqueue_many(&server, &of_with(&acme, &queue, json!({"retry": {"max_attempts": 1}})), 7);
    server.enqueue(of_with(&acme, &queue, json!({"scheduled_at": "2099-01-01T00:00:00Z"})));
    assert_eq!(caller(&server, &acme).fetch(&queue, 4).len(), 4);
    ack(&server, &sent[0]);
    ack(&server, &sent[1]);
    nack(&server, &sent[2], boom());
    let stats = tenant_stats(&server, &acme);
    assert_has(&stats, json!({"tenant_id": acme, "depth": 4}));
    assert!(stats["total_jobs"].as_u64().is_some_and(|total| total >= 5), "{stats}");
    let jobs =
        json!({"available": 3, "active": 1, "scheduled": 1, "completed_24h": 2, "failed_24h": 1});
    assert_has(&stats["jobs"], jobs);
    assert!(stats["throughput"]["processed_per_minute"].as_f64().is_some_and(|n| n > 0.0));
    assert!(stats["throughput"]["enqueued_per_minute"].as_f64().is_some_and(|n| n > 0.0));
    assert_has(&stats["limits"]["max_concurrency"], json!({"limit": 20, "current": 1}));
    assert_has(&stats["fairness"], json!({"weight": 10}));
    for share in ["effective_share", "actual_share"] {
        let share = stats["fairness"][share].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&share), "{stats}");
    }
}

#[test]
fn tenants_are_listed_with_their_numbers() {
    let server = start(&[]);
    for (tenant, depth) in [("acme", 3), ("beta", 1), ("gamma", 2)] {
        enqueue_many(&server, &of(tenant, "q"), depth);
    }
    let names = |query: &str| -> Vec<String> {
        let body = server.get(&format!("/ojs/v1/admin/tenants{query}")).expect(200);
        assert_eq!(body["items"], body["tenants"]);
        let all: Vec<String> = list(&body["items"]).iter().map(|t| text(&t["tenant_id"])).collect();
        all.into_iter().filter(|tenant| tenant != "_default").collect()
    };
    assert_eq!(names("?sort=id"), ["acme", "beta", "gamma"]);
    assert_eq!(names("?sort=depth"), ["acme", "gamma", "beta"]);
    let body = server.get("/ojs/v1/admin/tenants?per_page=2&page=1&sort=depth").expect(200);
    assert_eq!(list(&body["items"]).len(), 2);
    assert_members(&body["pagination"], &["total", "page", "per_page"]);
    let first = &body["items"][0];
    assert_has(first, json!({"tenant_id": "acme", "depth": 3, "throttled": false}));
    assert_has(&first["jobs"], json!({"available": 3, "active": 0}));
    assert_members(
        &first["fairness"],
        &["weight", "effective_weight", "effective_share", "actual_share"],
    );
}

#[test]
fn jobs_of_a_tenant_are_listed_by_state_and_page() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    let sent = enqueue_many(&server, &of(&acme, &queue), 5);
    server.enqueue(of(&fresh("beta"), &queue));
    caller(&server, &acme).fetch(&queue, 2);
    let jobs = |query: &str| {
        let body = server.get(&format!("/ojs/v1/admin/tenants/{acme}/jobs{query}")).expect(200);
        list(&body["items"])
    };
    // The newest come first.
    let active = ids(&jobs("?state=active&page=1&per_page=20"));
    assert_eq!(active, [&*sent[1], &*sent[0]]);
    let (first, second) = (jobs("?page=1&per_page=3"), jobs("?page=2&per_page=3"));
    assert_eq!((first.len(), second.len()), (3, 2));
    let all = [first, second].concat();
    assert!(tenants(&all).iter().all(|tenant| *tenant == acme));
}

#[test]
fn changes_are_kept_with_their_reasons() {
    let server = shared();
    let acme = fresh("acme");
    put_tenant(&server, &acme, json!({"limits": {"max_concurrency": 9}, "reason": "signed"}));
    let path = format!("/ojs/v1/admin/tenants/{acme}");
    server
        .put(&format!("{path}/limits"), json!({"max_concurrency": 2, "reason": "incident"}))
        .expect(200);
    let mut changes = list(&server.get(&format!("{path}/changes")).expect(200)["items"]);
    changes.sort_by_key(|change| text(&change["what"]));
    assert_eq!(changes.len(), 2);
    assert_has(&changes[0], json!({"what": "limits", "reason": "incident"}));
    assert_has(&changes[1], json!({"what": "put", "reason": "signed"}));
    assert_eq!(changes[0]["before"]["limits"]["max_concurrency"], 9, "{changes:?}");
    assert_eq!(changes[0]["after"]["limits"]["max_concurrency"], 2, "{changes:?}");
    assert_members(&changes[0], &["at"]);
}

#[test]
fn a_tenant_of_the_configuration_alone_has_no_beginning() {
    let server = start(&[("ROTA_TENANTS", r#"{"acme": {"weight": 2}}"#)]);
    let shown = server.get("/ojs/v1/admin/tenants/acme").expect(200);
    assert_has(&shown, json!({"origin": "file", "created_at": null}));
}

#[test]
fn a_rate_that_nothing_was_counted_for_is_used_by_none() {
    let (server, acme) = (shared(), fresh("acme"));
    let limits = json!({"max_enqueue_rate": {"limit": 5, "period": "PT1M"}});
    put_tenant(&server, &acme, json!({"limits": limits}));
    let used = &tenant_stats(&server, &acme)["limits"]["max_enqueue_rate"];
    assert_eq!(used, &json!({"limit": 5, "period": "PT1M", "current": 0}));
}

#[test]
fn a_body_that_says_something_twice_is_refused() {
    let server = shared();
    let twice = br#"{"concurrency": 1, "concurrency": 2, "queues": ["q"]}"#;
    let tenant = br#"{"fairness_weight": 1, "fairness_weight": 2}"#;
    let paths: [(&str, &[u8]); 4] = [
        ("/ojs/v1/admin/tenants/twice", tenant),
        ("/ojs/v1/admin/tenants/twice/limits", tenant),
        ("/ojs/v1/admin/pools/twice", twice),
        ("/ojs/v1/rate-limits/twice", twice),
    ];
    for (path, body) in paths {
        let error = server.send("PUT", path, &[JSON], Some(body));
        let error = error.expect_error(400, "invalid_payload");
        assert!(text(&error["message"]).contains("twice"), "{path}: {error}");
    }
    let error = server.put("/ojs/v1/admin/queues/q/config", json!([])).expect(400);
    assert!(!error.to_string().contains("struct"), "{error}");
    let error = server.put("/ojs/v1/admin/queues/q/config", json!({"concurrency": -1})).expect(400);
    assert!(text(&error["error"]["message"]).contains("a whole number"), "{error}");
}
