//! What a pool bounds: its concurrency, its queues and who may take from them.

use serde_json::{Value, json};

use crate::api::{
    assert_has, enqueue_many, fetch, fresh, list, put_pool, shared, start, try_fetch,
};
use crate::shorthand::{ack, fresh_queue, ids, job_on};
use crate::support::in_one_minute;
use crate::watch::nap;

fn ask(pool: &str, worker: &str, queue: &str) -> Value {
    json!({"queues": [queue], "pool": pool, "worker_id": worker, "count": 9})
}

#[test]
fn the_concurrency_is_for_all_workers_together() {
    let server = shared();
    let (pool, queue) = (fresh("pool"), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue], "concurrency": 3}));
    let sent = enqueue_many(&server, &job_on(&queue), 6);
    let (one, two) = (fresh("w"), fresh("w"));
    let first =
        fetch(&server, json!({"queues": [queue], "pool": pool, "worker_id": one, "count": 2}));
    assert_eq!(ids(&first), sent[..2]);
    assert_eq!(ids(&fetch(&server, ask(&pool, &two, &queue))), sent[2..3]);
    assert!(fetch(&server, ask(&pool, &two, &queue)).is_empty());
    ack(&server, &sent[0]);
    assert_eq!(ids(&fetch(&server, ask(&pool, &two, &queue))), sent[3..4]);
}

/// Two jobs were fetched without a worker id, and the worker of the third has deregistered.
#[test]
fn a_full_pool_is_still_full_after_a_kill() {
    let mut server = start(&[]);
    put_pool(&server, "p", json!({"queues": ["q"], "concurrency": 3}));
    let sent = enqueue_many(&server, &job_on("q"), 6);
    let nameless = json!({"queues": ["q"], "pool": "p", "count": 2});
    assert_eq!(ids(&fetch(&server, nameless.clone())), sent[..2]);
    assert_eq!(ids(&fetch(&server, ask("p", "w1", "q"))), sent[2..3]);
    server.post("/ojs/v1/workers/deregister", json!({"worker_id": "w1"})).expect(200);
    for (freed, next) in [(0, 3), (2, 4)] {
        server.kill();
        server.restart();
        assert_eq!(server.get("/ojs/v1/admin/pools/p").expect(200)["active_jobs"], 3);
        assert!(fetch(&server, nameless.clone()).is_empty());
        assert!(fetch(&server, ask("p", "w2", "q")).is_empty());
        ack(&server, &sent[freed]);
        assert_eq!(ids(&fetch(&server, nameless.clone())), sent[next..=next]);
    }
}

#[test]
fn a_freed_slot_of_a_pool_wakes_a_waiting_fetch() {
    let server = shared();
    let (pool, queue) = (fresh("pool"), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue], "concurrency": 1}));
    let sent = enqueue_many(&server, &job_on(&queue), 2);
    assert_eq!(fetch(&server, ask(&pool, &fresh("w"), &queue)).len(), 1);
    let patient =
        crate::shorthand::merged(ask(&pool, &fresh("w"), &queue), json!({"wait_ms": 20_000}));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fetch(&server, patient));
        nap(150);
        ack(&server, &sent[0]);
        assert_eq!(ids(&waiting.join().unwrap()), sent[1..]);
    });
}

#[test]
fn a_pool_without_isolation_shares_its_queues() {
    let server = shared();
    let (pool, other, queue) = (fresh("pool"), fresh("pool"), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue]}));
    put_pool(&server, &other, json!({"queues": [queue]}));
    enqueue_many(&server, &job_on(&queue), 3);
    for name in [&pool, &other] {
        let ask = json!({"queues": [queue], "pool": name, "worker_id": fresh("w")});
        assert_eq!(fetch(&server, ask).len(), 1);
    }
    assert_eq!(server.fetch(&queue, 9).len(), 1, "and with a worker of no pool");
}

#[test]
fn an_isolated_pool_keeps_its_queues_to_itself() {
    let server = shared();
    let (pool, general) = (fresh("payment-workers"), fresh("general-workers"));
    let (payments, email) = (fresh_queue(), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [payments], "isolated": true}));
    put_pool(&server, &general, json!({"queues": [payments, email]}));
    let sent = enqueue_many(&server, &job_on(&payments), 2);
    let mail = server.enqueue(job_on(&email));
    assert!(server.fetch(&payments, 9).is_empty());
    let both =
        json!({"queues": [payments, email], "pool": general, "worker_id": fresh("w"), "count": 9});
    assert_eq!(ids(&fetch(&server, both)), [mail]);
    assert_eq!(ids(&fetch(&server, ask(&pool, &fresh("w"), &payments))), sent);
}

#[test]
fn two_isolated_pools_may_share_a_queue() {
    let server = shared();
    let (one, two, queue) = (fresh("pool"), fresh("pool"), fresh_queue());
    for pool in [&one, &two] {
        put_pool(&server, pool, json!({"queues": [queue], "isolated": true}));
    }
    enqueue_many(&server, &job_on(&queue), 2);
    assert!(server.fetch(&queue, 9).is_empty());
    for pool in [&one, &two] {
        let ask = json!({"queues": [queue], "pool": pool, "worker_id": fresh("w")});
        assert_eq!(fetch(&server, ask).len(), 1);
    }
}

#[test]
fn a_queue_is_free_again_when_its_pool_is_gone() {
    let server = shared();
    let (pool, queue) = (fresh("pool"), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue], "isolated": true}));
    server.enqueue(job_on(&queue));
    assert!(server.fetch(&queue, 9).is_empty());
    server.delete(&format!("/ojs/v1/admin/pools/{pool}")).expect(200);
    assert_eq!(server.fetch(&queue, 9).len(), 1);
}

#[test]
fn a_fetch_for_queues_outside_the_pool_is_refused() {
    let server = shared();
    let (pool, queue, outside) = (fresh("pool"), fresh_queue(), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue]}));
    server.enqueue(job_on(&outside));
    try_fetch(&server, ask(&pool, &fresh("w"), &outside)).expect(422);
    let mixed = json!({"queues": [queue, outside], "pool": pool, "worker_id": fresh("w")});
    try_fetch(&server, mixed).expect(422);
    assert_eq!(server.fetch(&outside, 1).len(), 1);
}

#[test]
fn scheduling_is_shown_by_queue_and_pool() {
    let shown = in_one_minute(|| {
        let server = start(&[]);
        let pool = json!({"queues": ["a", "b"], "concurrency": 8, "strategy": "strict"});
        put_pool(&server, "general", pool);
        enqueue_many(&server, &job_on("a"), 3);
        enqueue_many(&server, &job_on("b"), 3);
        let ask = json!({"queues": ["a", "b"], "pool": "general", "worker_id": "w1", "count": 4});
        assert_eq!(fetch(&server, ask).len(), 4);
        server.get("/ojs/v1/admin/scheduling/stats").expect(200)
    });
    assert_eq!(shown["window"], "PT1M");
    let queues = list(&shown["queues"]);
    let row = |name: &str| queues.iter().find(|queue| queue["name"] == name).unwrap().clone();
    assert_has(
        &row("a"),
        json!({"dispatch_count_1m": 3, "dispatch_ratio_1m": 0.75, "active_jobs": 3}),
    );
    assert_has(
        &row("b"),
        json!({"dispatch_count_1m": 1, "dispatch_ratio_1m": 0.25, "active_jobs": 1}),
    );
    assert!(row("a")["avg_wait_ms"].as_f64().is_some_and(|wait| wait >= 0.0));
    assert_eq!(shown["stats"]["total_dispatched_1m"], 4);
    let pools = list(&shown["stats"]["pools"]);
    assert_has(
        &pools[0],
        json!({"name": "general", "active_jobs": 4, "concurrency": 8, "utilization": 0.5,
            "dispatch_count_1m": 4}),
    );
}
