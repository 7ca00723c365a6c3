//! Weights of queues that contradict the rest of a request.

use serde_json::{Value, json};

use crate::api::{fresh, shared, try_fetch};
use crate::shorthand::{merged, text};
use crate::support::{Reply, Server};

/// Sends the same fields as a fetch, as a registration and as a pool.
fn everywhere(server: &Server, fields: &Value) -> [(&'static str, Reply); 3] {
    let worker = merged(fields.clone(), json!({"worker_id": fresh("w")}));
    let pool = format!("/ojs/v1/admin/pools/{}", fresh("pool"));
    [
        ("fetch", try_fetch(server, fields.clone())),
        ("registration", server.post("/ojs/v1/workers/register", worker)),
        ("pool", server.put(&pool, fields.clone())),
    ]
}

#[track_caller]
fn assert_refused(reply: Reply, field: &str, message: &str, hint: &str) {
    let error = reply.expect_error(422, "invalid_request");
    assert_eq!(text(&error["details"]["field"]), field, "{error}");
    assert_eq!(text(&error["message"]), message);
    assert_eq!(text(&error["hint"]), hint);
}

#[test]
fn a_weight_is_for_a_queue_that_is_named() {
    let server = shared();
    let fields = json!({"queues": ["a"], "strategy": "weighted", "weights": {"a": 1, "b": 2}});
    for (_, reply) in everywhere(&server, &fields) {
        assert_refused(
            reply,
            "weights",
            "'weights' names 'b', which is not in 'queues'",
            "Add 'b' to 'queues', or leave its weight out.",
        );
    }
}

#[test]
fn weights_go_with_no_other_strategy() {
    let server = shared();
    for strategy in ["strict", "round-robin", "least-loaded"] {
        let fields = json!({"queues": ["a", "b"], "strategy": strategy, "weights": {"a": 2}});
        for (_, reply) in everywhere(&server, &fields) {
            assert_refused(
                reply,
                "strategy",
                &format!("'strategy' is '{strategy}', but weights count only with 'weighted'"),
                "Set 'strategy' to 'weighted', or leave the weights out.",
            );
        }
    }
}

#[test]
fn a_queue_of_a_pool_has_one_weight() {
    let server = shared();
    let put = |weights: Value| {
        let queues = json!({"a": {"weight": 3}, "b": {}});
        let body = json!({"queues": queues, "strategy": "weighted", "weights": weights});
        server.put(&format!("/ojs/v1/admin/pools/{}", fresh("pool")), body)
    };
    assert_refused(
        put(json!({"a": 2})),
        "weights.a",
        "'weights.a' is 2, but 'queues.a.weight' is 3",
        "Give the queue one weight, in either place.",
    );
    let shown = put(json!({"a": 3, "b": 2})).expect(201);
    assert_eq!(shown["weights"], json!({"a": 3, "b": 2}));
}

#[test]
fn weights_are_from_a_hundredth_to_a_thousand() {
    let server = shared();
    for bad in [json!(0), json!(-1), json!(0.001), json!(1001), json!("heavy"), Value::Null] {
        let fields = json!({"queues": ["a"], "strategy": "weighted", "weights": {"a": bad}});
        for (_, reply) in everywhere(&server, &fields) {
            let error = reply.expect_error(422, "invalid_request");
            assert_eq!(error["details"]["field"], "weights.a");
        }
    }
}

#[test]
fn weights_that_agree_are_accepted_as_before() {
    let server = shared();
    for fields in [
        json!({"queues": ["a", "b"], "strategy": "weighted", "weights": {"a": 0.01, "b": 1000}}),
        json!({"queues": ["a", "b"], "weights": {"a": 2}}),
        json!({"queues": ["a", "b"], "strategy": "strict", "weights": {}}),
        json!({"queues": ["a", "b"], "strategy": "weighted", "weights": null}),
    ] {
        for (what, reply) in everywhere(&server, &fields) {
            assert!(reply.status < 300, "{what}: {} for {fields}", reply.status);
        }
    }
}
