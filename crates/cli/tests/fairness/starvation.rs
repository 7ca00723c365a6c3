//! Starvation prevention: settings, pools and what they refuse. The guarantee itself is proven in the engine's tests.

use serde_json::json;

use crate::api::{
    assert_has, count, enqueue_many, fetch, fresh, put_pool, queues, shared, start, try_fetch,
};
use crate::shorthand::{fresh_queue, job_on, text};
use crate::support::Server;

/// At any point the queue has had this part of the dispatches, bar one.
#[track_caller]
fn assert_ratio(served: &[String], queue: &str, ratio: f64) {
    for n in 1..=served.len() {
        let least = (n as f64 * ratio).floor() - 1.0;
        assert!(count(&served[..n], queue) as f64 >= least, "{queue} of {n}: {served:?}");
    }
}

#[test]
fn prevention_is_off_by_default() {
    let server = shared();
    let (pool, a, b) = (fresh("pool"), fresh_queue(), fresh_queue());
    let shown = put_pool(&server, &pool, json!({"queues": [a, b], "strategy": "strict"}));
    assert_has(
        &shown["starvation_prevention"],
        json!({"enabled": false, "rotation_interval": "PT30S",
        "min_dispatch_ratio": 0.05}),
    );
    enqueue_many(&server, &job_on(&a), 60);
    enqueue_many(&server, &job_on(&b), 5);
    let ask = json!({"queues": [a, b], "pool": pool, "worker_id": fresh("w"), "count": 50});
    assert_eq!(count(&queues(&fetch(&server, ask)), &b), 0);
}

#[test]
fn the_ratio_in_force_is_shown() {
    let server = shared();
    let names: Vec<String> = (0..25).map(|_| fresh_queue()).collect();
    let put = |body| server.put(&format!("/ojs/v1/admin/pools/{}", fresh("pool")), body);
    let shown = put(json!({"queues": names, "starvation_prevention": {"enabled": true}}));
    let ratio = &shown.expect(201)["starvation_prevention"]["min_dispatch_ratio"];
    assert_eq!(*ratio, 0.04, "the default is lowered to what 25 queues can have");
    let given = json!({"enabled": true, "min_dispatch_ratio": 0.05});
    let refused = put(json!({"queues": names, "starvation_prevention": given}));
    let error = refused.expect_error(422, "invalid_request");
    assert_eq!(error["details"]["field"], "starvation_prevention.min_dispatch_ratio");
    assert_eq!(
        error["message"],
        "'starvation_prevention.min_dispatch_ratio' times 25 queues is more than 1"
    );
    assert!(text(&error["hint"]).starts_with("Use at most 0.04,"), "{error}");
}

/// Each queue is to get 40 % of all dispatches.
fn start_with_a_large_ratio() -> Server {
    let ratio = ("ROTA_STARVATION_MIN_DISPATCH_RATIO", "0.4");
    start(&[("ROTA_STARVATION_ENABLED", "true"), ratio])
}

#[test]
fn the_servers_ratio_has_to_fit_the_queues_of_a_pool() {
    let server = start_with_a_large_ratio();
    let put = |body| server.put("/ojs/v1/admin/pools/mail", body);
    let error = put(json!({"queues": ["a", "b", "c"]})).expect_error(422, "invalid_request");
    assert!(text(&error["hint"]).contains("give the pool its own"), "{error}");
    put(json!({"queues": ["a", "b", "c"], "starvation_prevention": {"enabled": true}})).expect(201);
    put(json!({"queues": ["a", "b"]})).expect(200);
}

#[test]
fn the_servers_ratio_has_to_fit_the_queues_of_a_fetch() {
    let server = start_with_a_large_ratio();
    try_fetch(&server, json!({"queues": ["a", "b"]})).expect(200);
    let refused = try_fetch(&server, json!({"queues": ["a", "b", "c"]}));
    let error = refused.expect_error(422, "invalid_request");
    assert_eq!(
        text(&error["message"]),
        "Each of 3 queues cannot be guaranteed starvation.min_dispatch_ratio of all dispatches: \
         together that is more than 1."
    );
    assert!(text(&error["hint"]).starts_with("Name fewer queues"), "{error}");
}

#[test]
fn a_default_ratio_never_refuses_a_fetch() {
    let server = start(&[("ROTA_STARVATION_ENABLED", "true")]);
    let names: Vec<String> = (0..25).map(|n| format!("q{n}")).collect();
    for queue in &names {
        server.enqueue(job_on(queue));
    }
    assert_eq!(fetch(&server, json!({"queues": names, "count": 25})).len(), 25);
}

#[test]
fn without_a_pool_the_settings_decide() {
    let server = start(&[
        ("ROTA_STARVATION_ENABLED", "true"),
        ("ROTA_STARVATION_MIN_DISPATCH_RATIO", "0.2"),
    ]);
    enqueue_many(&server, &job_on("hot"), 100);
    enqueue_many(&server, &job_on("cold"), 20);
    let ask = json!({"queues": ["hot", "cold"], "count": 50});
    assert_ratio(&queues(&fetch(&server, ask)), "cold", 0.2);
}
