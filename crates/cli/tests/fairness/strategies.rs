//! Several queues in one fetch: what requests and pools may say. `spec_fair_scheduling` has a case of each strategy,
//! and the engine's tests prove the order.

use serde_json::{Value, json};

use crate::api::{count, enqueue_many, fetch, put_pool, queues, shared, start, try_fetch};
use crate::shorthand::{fresh_queue, job_on};
use crate::support::Server;

/// Three queues with so many jobs each.
fn three(server: &Server, depths: [usize; 3]) -> [String; 3] {
    depths.map(|depth| {
        let queue = fresh_queue();
        enqueue_many(server, &job_on(&queue), depth);
        queue
    })
}

/// At no point is a queue further from its share than its weight.
#[track_caller]
fn assert_weighted(served: &[String], weights: &[(&str, usize)]) {
    let total: usize = weights.iter().map(|(_, weight)| weight).sum();
    for (queue, weight) in weights {
        for n in 1..=served.len() {
            let got = count(&served[..n], queue) as f64;
            let share = (n * weight) as f64 / total as f64;
            let near = (got - share).abs() <= *weight as f64;
            assert!(near, "{queue}: {got}, not {share}, of {n}: {served:?}");
        }
    }
}

#[test]
fn strict_is_left_to_right_and_the_default() {
    let server = shared();
    for strategy in [json!({}), json!({"strategy": "strict"})] {
        let [a, b, c] = three(&server, [2, 2, 2]);
        let ask = json!({"queues": [b, c, a], "count": 9});
        let jobs = fetch(&server, crate::shorthand::merged(ask, strategy));
        assert_eq!(queues(&jobs), [&b, &b, &c, &c, &a, &a].map(String::as_str));
    }
}

#[test]
fn a_queue_without_a_weight_has_one() {
    let server = shared();
    let [a, b, _] = three(&server, [50, 50, 0]);
    let ask = json!({"queues": [a, b], "strategy": "weighted", "weights": {&*a: 3}, "count": 40});
    assert_weighted(&queues(&fetch(&server, ask)), &[(&a, 3), (&b, 1)]);
}

#[test]
fn what_an_empty_queue_leaves_goes_to_the_others() {
    let server = shared();
    let [a, b, c] = three(&server, [0, 30, 30]);
    let ask = json!({"queues": [a, b, c], "strategy": "weighted",
        "weights": {&*a: 10, &*b: 2, &*c: 1}, "count": 30});
    assert_weighted(&queues(&fetch(&server, ask)), &[(&b, 2), (&c, 1)]);
}

#[test]
fn priority_decides_within_a_queue_not_between_queues() {
    let server = shared();
    let (a, b) = (fresh_queue(), fresh_queue());
    let urgent = |queue: &str, priority: i32| {
        crate::shorthand::job_with(queue, json!({"priority": priority}))
    };
    for priority in [0, 9] {
        server.enqueue(urgent(&a, priority));
        server.enqueue(urgent(&b, priority * 2));
    }
    let ask = json!({"queues": [a, b], "strategy": "round-robin", "count": 4});
    let jobs = fetch(&server, ask);
    let got: Vec<Value> = jobs.iter().map(|job| job["priority"].clone()).collect();
    assert_eq!(got, [9, 18, 0, 0].map(Value::from));
}

#[test]
fn what_the_server_says_wins_over_the_request() {
    let server = start(&[]);
    for queue in ["a", "b"] {
        enqueue_many(&server, &job_on(queue), 20);
    }
    let pool = json!({"queues": ["a", "b"], "strategy": "strict"});
    put_pool(&server, "general", pool);
    let ask = json!({"queues": ["a", "b"], "pool": "general", "worker_id": "w1",
        "strategy": "weighted", "weights": {"a": 1, "b": 9}, "count": 5});
    assert_eq!(queues(&fetch(&server, ask)), ["a"; 5]);
}

#[test]
fn strategies_that_make_no_sense_are_refused() {
    let server = shared();
    let sound = json!({"queues": ["a"], "strategy": "weighted", "weights": {"a": 1}});
    try_fetch(&server, sound).expect(200);
    for bad in [
        json!({"strategy": "random"}),
        json!({"strategy": 5}),
        json!({"strategy": "weighted", "weights": {"a": -1}}),
        json!({"strategy": "weighted", "weights": {"a": "heavy"}}),
        json!({"strategy": "weighted", "weights": []}),
    ] {
        let ask = crate::shorthand::merged(json!({"queues": ["a"]}), bad.clone());
        let status = try_fetch(&server, ask).status;
        assert!(matches!(status, 400 | 422), "{status} for {bad}");
    }
}
