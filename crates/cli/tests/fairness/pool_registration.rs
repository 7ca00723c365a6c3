//! Workers and the one pool of each.

use serde_json::json;

use crate::api::{
    caller, count, enqueue_many, fetch, fetch_singly, fresh, list, put_pool, queues, shared, start,
    tenants, try_fetch,
};
use crate::shorthand::{fresh_queue, heartbeat, job_on, register, text};

#[test]
fn a_worker_registers_in_the_shape_of_the_specification() {
    let server = shared();
    let (worker, pool) = (fresh("worker-abc"), fresh("general"));
    let (a, b) = (fresh_queue(), fresh_queue());
    put_pool(
        &server,
        &pool,
        json!({"queues": [a, b], "strategy": "weighted", "weights": {&*a: 5, &*b: 1}}),
    );
    let body = json!({"worker": {"id": worker, "pool": pool, "queues": [a, b],
        "strategy": "weighted", "weights": {&*a: 1, &*b: 5}, "concurrency": 6}});
    let answer = server.post("/ojs/v1/workers/register", body).expect(200);
    assert_eq!(answer["worker_id"], worker);
    for queue in [&a, &b] {
        enqueue_many(&server, &job_on(queue), 10);
    }
    let jobs = fetch(&server, json!({"queues": [a, b], "worker_id": worker, "count": 9}));
    assert_eq!(jobs.len(), 6, "no more than its concurrency");
    assert_eq!(crate::api::count(&queues(&jobs), &a), 5, "by the weights of its pool");
    let shown = server.get(&format!("/ojs/v1/admin/workers/{worker}")).expect(200);
    assert!(shown.to_string().contains(&pool), "{shown}");
}

#[test]
fn a_workers_own_strategy_counts_where_the_pool_has_none_to_say() {
    let server = shared();
    let (worker, a, b) = (fresh("w"), fresh_queue(), fresh_queue());
    let body = json!({"worker": {"id": worker, "queues": [a, b], "strategy": "round-robin"}});
    server.post("/ojs/v1/workers/register", body).expect(200);
    for queue in [&a, &b] {
        enqueue_many(&server, &job_on(queue), 4);
    }
    let jobs = fetch(&server, json!({"queues": [a, b], "worker_id": worker, "count": 4}));
    assert_eq!(queues(&jobs), [&a, &b, &a, &b].map(String::as_str));
}

#[test]
fn an_unknown_pool_is_refused() {
    let server = shared();
    let (worker, nowhere, queue) = (fresh("w"), fresh("nowhere"), fresh_queue());
    server.enqueue(job_on(&queue));
    let body = json!({"worker_id": worker, "pool": nowhere, "queues": [queue]});
    let register = server.post("/ojs/v1/workers/register", body.clone());
    for reply in [register, try_fetch(&server, body)] {
        let error = reply.expect_error(422, "invalid_request");
        assert_eq!(text(&error["message"]), format!("There is no pool '{nowhere}'."));
        assert_eq!(text(&error["hint"]), "GET /ojs/v1/admin/pools lists all pools.");
        assert_eq!(error["details"]["field"], "pool");
    }
    assert_eq!(server.fetch(&queue, 1).len(), 1);
}

#[test]
fn a_worker_is_in_one_pool_only() {
    let server = shared();
    let (worker, one, two, queue) = (fresh("w"), fresh("pool"), fresh("pool"), fresh_queue());
    for pool in [&one, &two] {
        put_pool(&server, pool, json!({"queues": [queue]}));
    }
    register(&server, &worker, json!({"pool": one, "queues": [queue]}));
    server.enqueue(job_on(&queue));
    let ask = |pool: &str| json!({"queues": [queue], "worker_id": worker, "pool": pool});
    let again = json!({"worker_id": worker, "pool": two});
    let register_again = server.post("/ojs/v1/workers/register", again);
    for reply in [register_again, try_fetch(&server, ask(&two))] {
        let error = reply.expect_error(422, "invalid_request");
        assert_eq!(
            text(&error["message"]),
            format!(
                "The worker belongs to the pool '{one}' and cannot join another while that pool exists."
            )
        );
        assert!(text(&error["hint"]).starts_with(&format!("Send \"pool\": \"{one}\"")), "{error}");
        assert_eq!(text(&error["details"]["pool"]), one);
    }
    assert_eq!(fetch(&server, ask(&one)).len(), 1);
    let several = json!({"worker_id": fresh("w"), "pool": [one, two]});
    let status = server.post("/ojs/v1/workers/register", several).status;
    assert!(matches!(status, 400 | 422), "{status}");
}

#[test]
fn a_pool_of_the_registration_need_not_be_repeated() {
    let server = shared();
    let (worker, pool, queue) = (fresh("w"), fresh("pool"), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue], "isolated": true, "concurrency": 1}));
    register(&server, &worker, json!({"pool": pool, "queues": [queue]}));
    enqueue_many(&server, &job_on(&queue), 2);
    let jobs = fetch(&server, json!({"queues": [queue], "worker_id": worker, "count": 9}));
    assert_eq!(jobs.len(), 1);
}

#[test]
fn a_fetch_without_queues_is_served_from_those_of_the_pool() {
    let server = shared();
    let (worker, pool, a, b) = (fresh("w"), fresh("pool"), fresh_queue(), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [a, b]}));
    for queue in [&a, &b] {
        enqueue_many(&server, &job_on(queue), 2);
    }
    let jobs = fetch(&server, json!({"pool": pool, "count": 2}));
    assert_eq!(queues(&jobs), [&*a, &*b]);
    register(&server, &worker, json!({"pool": pool}));
    let jobs = fetch(&server, json!({"worker_id": worker, "count": 2}));
    assert_eq!(queues(&jobs), [&*a, &*b]);
    let nothing = json!({"worker_id": fresh("w")});
    let error = try_fetch(&server, nothing).expect_error(400, "invalid_request");
    assert_eq!(error["details"]["field"], "queues");
}

#[test]
fn a_waiting_fetch_without_queues_hears_of_those_of_the_pool() {
    let server = shared();
    let (pool, queue) = (fresh("pool"), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue]}));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fetch(&server, json!({"pool": pool, "wait_ms": 20_000})));
        crate::watch::nap(150);
        server.enqueue(job_on(&queue));
        assert_eq!(waiting.join().unwrap().len(), 1);
    });
}

#[test]
fn a_worker_whose_pool_is_gone_may_go_on_or_join_another() {
    let server = shared();
    let (worker, old, new, queue) = (fresh("w"), fresh("pool"), fresh("pool"), fresh_queue());
    for pool in [&old, &new] {
        put_pool(&server, pool, json!({"queues": [queue]}));
    }
    register(&server, &worker, json!({"pool": old}));
    server.delete(&format!("/ojs/v1/admin/pools/{old}")).expect(200);
    enqueue_many(&server, &job_on(&queue), 2);
    assert_eq!(fetch(&server, json!({"worker_id": worker, "queues": [queue]})).len(), 1);
    register(&server, &worker, json!({"pool": new}));
    assert_eq!(fetch(&server, json!({"worker_id": worker, "queues": [queue]})).len(), 1);
}

#[test]
fn the_first_fetch_registers_a_worker_with_its_pool() {
    let server = shared();
    let (worker, pool, queue) = (fresh("w"), fresh("pool"), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue]}));
    fetch(&server, json!({"queues": [queue], "worker_id": worker, "pool": pool}));
    let shown = server.get(&format!("/ojs/v1/admin/pools/{pool}")).expect(200);
    assert_eq!(shown["active_workers"], 1);
    heartbeat(&server, &worker, json!({})).expect(200);
    server.delete(&format!("/ojs/v1/workers/{worker}")).expect(200);
    let shown = server.get(&format!("/ojs/v1/admin/pools/{pool}")).expect(200);
    assert_eq!(shown["active_workers"], 0);
}

#[test]
fn a_worker_that_says_nothing_more_serves_what_it_registered_for() {
    let server = shared();
    let (worker, a, b) = (fresh("worker"), fresh_queue(), fresh_queue());
    let ask = json!({"worker_id": worker});
    try_fetch(&server, ask.clone()).expect_error(400, "invalid_request");
    let body = json!({"worker": {"id": worker, "queues": [a, b], "strategy": "weighted",
        "weights": {&*a: 2, &*b: 1}}});
    server.post("/ojs/v1/workers/register", body).expect(200);
    for queue in [&a, &b] {
        enqueue_many(&server, &job_on(queue), 9);
    }
    let served = queues(&fetch_singly(&server, &ask, 9));
    assert_eq!((count(&served, &a), count(&served, &b)), (6, 3), "{served:?}");
}

#[test]
fn in_namespaces_that_means_the_queues_of_its_tenant() {
    let server = start(&[("ROTA_TENANCY_ISOLATION", "namespace")]);
    let body = json!({"worker_id": "w", "queues": ["mail"]});
    for tenant in ["acme", "beta"] {
        caller(&server, tenant).post("/ojs/v1/workers/register", body.clone()).expect(200);
        caller(&server, tenant).enqueue(job_on("mail"));
    }
    let ask = json!({"worker_id": "w", "count": 9});
    let answer = caller(&server, "beta").post("/ojs/v1/workers/fetch", ask).expect(200);
    assert_eq!(tenants(&list(&answer["jobs"])), ["beta"]);
}
