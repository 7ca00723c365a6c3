//! Pools: defining, showing, changing and removing them.

use serde_json::{Value, json};

use crate::api::{
    assert_has, assert_members, count, enqueue_many, fetch, fetch_singly, fresh, list, put_pool,
    queues, shared, start,
};
use crate::shorthand::{fresh_queue, job_on, merged, register};

fn path(pool: &str) -> String {
    format!("/ojs/v1/admin/pools/{pool}")
}

#[test]
fn a_pool_is_created_shown_changed_and_deleted() {
    let server = shared();
    let pool = fresh("critical-workers");
    server.get(&path(&pool)).expect_error(404, "not_found");
    let body = json!({"queues": ["critical", "payments"], "concurrency": 20, "strategy": "strict"});
    let shown = server.put(&path(&pool), body.clone()).expect(201);
    let expected = merged(
        body,
        json!({"name": pool, "isolated": false, "active_workers": 0,
        "active_jobs": 0, "origin": "api"}),
    );
    assert_has(&shown, expected.clone());
    assert_has(&shown["pool"], expected.clone());
    assert_members(&shown, &["starvation_prevention", "utilization"]);
    assert_has(&server.get(&path(&pool)).expect(200), expected);
    let again = json!({"pool": {"name": pool, "queues": ["critical"], "strategy": "weighted",
        "weights": {"critical": 2}, "isolated": true}});
    let shown = server.put(&path(&pool), again).expect(200);
    assert_has(&shown, json!({"queues": ["critical"], "strategy": "weighted", "isolated": true}));
    assert_eq!(server.delete(&path(&pool)).expect(200)["deleted"], true);
    server.get(&path(&pool)).expect_error(404, "not_found");
    server.delete(&path(&pool)).expect_error(404, "not_found");
}

#[test]
fn queues_may_be_given_with_their_weights() {
    let server = shared();
    let pool = fresh("weighted");
    let body = json!({"strategy": "weighted",
        "queues": {"high-priority": {"weight": 70}, "low-priority": {"weight": 30}}});
    let shown = put_pool(&server, &pool, body);
    assert_eq!(shown["weights"], json!({"high-priority": 70, "low-priority": 30}));
    let mut names = list(&shown["queues"]);
    names.sort_by_key(Value::to_string);
    assert_eq!(names, ["high-priority", "low-priority"]);
}

#[test]
fn round_robin_is_a_pools_default() {
    let server = shared();
    let (pool, a, b) = (fresh("pool"), fresh_queue(), fresh_queue());
    let shown = put_pool(&server, &pool, json!({"queues": [a, b]}));
    assert_eq!(shown["strategy"], "round-robin");
    for queue in [&a, &b] {
        enqueue_many(&server, &job_on(queue), 5);
    }
    let ask = json!({"queues": [a, b], "pool": pool, "worker_id": fresh("w"), "count": 4});
    let [a, b] = [&*a, &*b];
    assert_eq!(queues(&fetch(&server, ask)), [a, b, a, b]);
}

#[test]
fn a_pools_strategy_decides() {
    let server = shared();
    for (strategy, expected) in [("strict", [6, 0]), ("weighted", [4, 2]), ("least-loaded", [0, 6])]
    {
        let (pool, a, b) = (fresh("pool"), fresh_queue(), fresh_queue());
        let mut body = json!({"queues": [a, b], "strategy": strategy});
        if strategy == "weighted" {
            body["weights"] = json!({&*a: 2, &*b: 1});
        }
        put_pool(&server, &pool, body);
        enqueue_many(&server, &job_on(&a), 10);
        enqueue_many(&server, &job_on(&b), 30);
        let ask = json!({"queues": [a, b], "pool": pool, "worker_id": fresh("w")});
        let served = queues(&fetch_singly(&server, &ask, 6));
        assert_eq!([count(&served, &a), count(&served, &b)], expected, "{strategy}");
    }
}

#[test]
fn a_new_strategy_counts_at_once() {
    let server = shared();
    let (pool, a, b) = (fresh("pool"), fresh_queue(), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [a, b], "strategy": "strict"}));
    for queue in [&a, &b] {
        enqueue_many(&server, &job_on(queue), 10);
    }
    let ask = json!({"queues": [a, b], "pool": pool, "worker_id": fresh("w"), "count": 4});
    assert_eq!(count(&queues(&fetch(&server, ask.clone())), &a), 4);
    put_pool(&server, &pool, json!({"queues": [a, b], "strategy": "round-robin"}));
    assert_eq!(count(&queues(&fetch(&server, ask)), &a), 2);
}

#[test]
fn pools_are_listed_with_their_workers_and_jobs() {
    let server = start(&[]);
    put_pool(&server, "busy", json!({"queues": ["q"], "concurrency": 4, "strategy": "strict"}));
    put_pool(&server, "idle", json!({"queues": ["other"], "concurrency": 2}));
    enqueue_many(&server, &job_on("q"), 5);
    for worker in ["w1", "w2"] {
        register(&server, worker, json!({"pool": "busy", "queues": ["q"]}));
    }
    fetch(&server, json!({"queues": ["q"], "pool": "busy", "worker_id": "w1", "count": 3}));
    let body = server.get("/ojs/v1/admin/pools").expect(200);
    assert_eq!(body["items"], body["pools"]);
    let pools = list(&body["items"]);
    let busy = pools.iter().find(|pool| pool["name"] == "busy").unwrap();
    assert_has(
        busy,
        json!({"queues": ["q"], "concurrency": 4, "strategy": "strict", "active_workers": 2,
            "active_jobs": 3, "utilization": 0.75}),
    );
    let idle = pools.iter().find(|pool| pool["name"] == "idle").unwrap();
    assert_has(idle, json!({"active_workers": 0, "active_jobs": 0}));
}

#[test]
fn pools_survive_a_restart() {
    let mut server = start(&[]);
    let body = json!({"queues": ["a", "b"], "concurrency": 1, "strategy": "weighted",
        "weights": {"a": 3, "b": 1}, "isolated": true});
    put_pool(&server, "general", body.clone());
    enqueue_many(&server, &job_on("a"), 3);
    let ask = json!({"queues": ["a", "b"], "pool": "general", "worker_id": "w1", "count": 3});
    assert_eq!(fetch(&server, ask.clone()).len(), 1);
    server.kill();
    server.restart();
    assert_has(&server.get(&path("general")).expect(200), body);
    assert!(fetch(&server, ask).is_empty(), "its one slot is taken");
}

#[test]
fn the_configuration_can_define_pools() {
    let pools = json!({"payment-workers": {"queues": ["payments"], "concurrency": 1,
        "strategy": "strict", "isolated": true}});
    let server = start(&[("ROTA_POOLS", &pools.to_string())]);
    let shown = server.get(&path("payment-workers")).expect(200);
    assert_has(&shown, json!({"origin": "file", "concurrency": 1, "isolated": true}));
    enqueue_many(&server, &job_on("payments"), 2);
    assert!(server.fetch("payments", 9).is_empty());
    let ask =
        json!({"queues": ["payments"], "pool": "payment-workers", "worker_id": "w1", "count": 2});
    assert_eq!(fetch(&server, ask).len(), 1);
}

#[test]
fn pools_that_make_no_sense_are_refused() {
    let server = shared();
    for bad in [
        json!({}),
        json!({"queues": []}),
        json!({"queues": "q"}),
        json!({"queues": ["q"], "strategy": "random"}),
        json!({"queues": ["q"], "concurrency": -1}),
        json!({"queues": ["q"], "weights": {"q": 0}}),
        json!({"queues": ["q"], "fairness_scope": "server"}),
        json!({"queues": ["q"], "starvation_prevention": {"min_dispatch_ratio": 2}}),
        json!({"queues": ["q"], "starvation_prevention": {"rotation_interval": "often"}}),
        json!({"name": "another", "queues": ["q"]}),
    ] {
        let status = server.put(&path(&fresh("pool")), bad.clone()).status;
        assert!(matches!(status, 400 | 422), "{status} for {bad}");
    }
}

#[test]
fn queues_of_a_wrong_kind_are_not_called_missing() {
    let server = shared();
    let put = |pool| server.put(&format!("/ojs/v1/admin/pools/{}", fresh("pool")), pool);
    let error = put(json!({"queues": "mail"})).expect_error(400, "invalid_request");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("an array")), "{error}");
    let error = put(json!({})).expect_error(400, "invalid_request");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("required")), "{error}");
}
