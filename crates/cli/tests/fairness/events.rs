//! Every event of the documents, with its data.

use serde_json::json;

use crate::api::{
    assert_has, assert_members, caller, enqueue_many, fetch, fresh, limited, list, of, put_pool,
    put_tenant, shared, start,
};
use crate::shorthand::{ack, eventually, fresh_queue, job_on, job_with};
use crate::watch::{await_event, events_with, nap};

#[test]
fn a_tenant_that_is_configured_is_announced_once() {
    let server = shared();
    let acme = fresh("acme");
    put_tenant(&server, &acme, json!({"fairness_weight": 2}));
    put_tenant(&server, &acme, json!({"fairness_weight": 3}));
    await_event(&server, "tenant.created", "tenant_id", &acme);
    assert_eq!(events_with(&server, "tenant.created", "tenant_id", &acme).len(), 1);
}

#[test]
fn a_limit_that_is_hit_is_announced() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_queue_depth": 1}}));
    server.enqueue(of(&acme, &queue));
    server.post("/ojs/v1/jobs", of(&acme, &queue)).expect(429);
    let event = await_event(&server, "tenant.limit_exceeded", "tenant_id", &acme);
    assert_has(&event, json!({"limit": "max_queue_depth", "current": 1, "maximum": 1}));
    // It is shown to the tenant, and to no other.
    let path = "/ojs/v1/events?limit=1000&types=tenant.limit_exceeded";
    assert_eq!(list(&caller(&server, &acme).get(path).expect(200)["events"]).len(), 1);
    assert!(list(&caller(&server, &fresh("beta")).get(path).expect(200)["events"]).is_empty());
}

#[test]
fn each_strategy_of_a_limit_names_itself() {
    let server = shared();
    for (strategy, limit) in [
        ("concurrency", json!({"concurrency": 1})),
        ("rate", json!({"rate": {"limit": 1, "period": "PT1S"}})),
        ("throttle", json!({"throttle": {"limit": 1, "period": "PT1S"}})),
    ] {
        let (key, queue) = (fresh("api"), fresh_queue());
        let limit = crate::shorthand::merged(limit, json!({"key": key}));
        let sent = enqueue_many(&server, &limited(&queue, limit), 2);
        assert_eq!(server.fetch(&queue, 9).len(), 1);
        let exceeded = await_event(&server, "rate_limit.exceeded", "key", &key);
        assert_has(&exceeded, json!({"strategy": strategy, "limit": 1}));
        assert_members(&exceeded, &["current"]);
        ack(&server, &sent[0]);
        let ask = json!({"queues": [queue], "wait_ms": 20_000});
        assert_eq!(fetch(&server, ask).len(), 1);
        let released = await_event(&server, "rate_limit.released", "key", &key);
        assert_has(&released, json!({"strategy": strategy, "job_id": sent[1]}));
    }
}

#[test]
fn a_pool_that_is_full_is_announced() {
    let server = shared();
    let (pool, queue) = (fresh("pool"), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue], "concurrency": 1}));
    enqueue_many(&server, &job_on(&queue), 3);
    for _ in 0..2 {
        fetch(
            &server,
            json!({"queues": [queue], "pool": pool, "worker_id": fresh("w"), "count": 3}),
        );
    }
    let event = await_event(&server, "scheduling.pool_overloaded", "pool", &pool);
    assert_has(&event, json!({"active_jobs": 1}));
    assert!(event["waiting_jobs"].as_u64().is_some_and(|jobs| jobs >= 1), "{event}");
}

#[test]
fn a_pool_that_changes_its_strategy_is_announced() {
    let server = shared();
    let pool = fresh("pool");
    put_pool(&server, &pool, json!({"queues": ["a", "b"], "strategy": "strict"}));
    put_pool(
        &server,
        &pool,
        json!({"queues": ["a", "b"], "strategy": "weighted", "weights": {"a": 2}}),
    );
    let event = await_event(&server, "scheduling.rebalanced", "pool", &pool);
    assert_has(&event, json!({"previous_strategy": "strict", "new_strategy": "weighted"}));
    put_pool(
        &server,
        &pool,
        json!({"queues": ["a", "b"], "strategy": "weighted", "weights": {"a": 3}}),
    );
    eventually("new weights are a change too", || {
        (events_with(&server, "scheduling.rebalanced", "pool", &pool).len() == 2).then_some(())
    });
}

#[test]
fn a_queue_that_starves_is_announced() {
    let server = start(&[("ROTA_STARVATION_ROTATION_INTERVAL", "500ms")]);
    enqueue_many(&server, &job_on("hot"), 500);
    enqueue_many(&server, &job_on("cold"), 3);
    let event = eventually("the queue starves", || {
        fetch(&server, json!({"queues": ["hot", "cold"]}));
        nap(50);
        events_with(&server, "scheduling.queue_starved", "queue", "cold").pop()
    });
    assert_has(&event["data"], json!({"available_count": 3}));
    assert_members(&event["data"], &["duration"]);
    let stats = server.get("/ojs/v1/admin/scheduling/stats").expect(200);
    let cold = list(&stats["queues"]).into_iter().find(|queue| queue["name"] == "cold");
    assert_eq!(cold.unwrap()["starved"], true);
    let labels = [("queue", "cold")];
    let counted = crate::watch::metric(&server, "ojs_scheduling_starvation_events_total", &labels);
    assert!(counted.is_some_and(|count| count >= 1.0));
}

#[test]
fn a_run_of_a_schedule_that_does_not_fit_is_skipped_with_an_event() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_queue_depth": 1}}));
    server.enqueue(of(&acme, &queue));
    let cron = json!({"name": fresh("often"), "cron": "@every 1s", "type": "a.b",
        "overlap_policy": "allow", "options": {"queue": queue}});
    caller(&server, &acme).post("/ojs/v1/cron", cron).expect(201);
    let event = await_event(&server, "tenant.limit_exceeded", "tenant_id", &acme);
    assert_has(&event, json!({"limit": "max_queue_depth"}));
    assert_eq!(caller(&server, &acme).fetch(&queue, 9).len(), 1);
}

#[test]
fn events_of_jobs_name_their_tenant() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    let id = server.enqueue(of(&acme, &queue));
    server.fetch(&queue, 1);
    ack(&server, &id);
    for kind in ["job.enqueued", "job.started", "job.completed"] {
        assert_eq!(await_event(&server, kind, "job_id", &id)["tenant_id"], acme, "{kind}");
    }
    let untagged = server.enqueue(job_with(&queue, json!({})));
    await_event(&server, "job.enqueued", "job_id", &untagged);
}

#[test]
fn a_caller_that_asks_for_another_tenants_events_finds_none() {
    let server = start(&[]);
    server.enqueue(of("acme", "q"));
    server.enqueue(of("beta", "q"));
    let acme = caller(&server, "acme");
    let found =
        |query: &str| list(&acme.get(&format!("/ojs/v1/events?{query}")).expect(200)["events"]);
    await_event(&server, "job.enqueued", "tenant_id", "beta");
    for own in ["types=job.enqueued", "types=job.enqueued&tenants=beta,acme"] {
        let events = found(own);
        assert_eq!(events.len(), 1, "{own}");
        assert_eq!(events[0]["data"]["tenant_id"], "acme");
    }
    for another in ["tenants=beta", "tenant=beta", "tenant_id=beta,gamma"] {
        assert_eq!(found(another), Vec::<serde_json::Value>::new(), "{another}");
    }
}

#[test]
fn a_burst_of_another_tenant_that_pushes_events_out_leaves_a_notice() {
    let server = start(&[("ROTA_EVENTS_CAPACITY", "50")]);
    enqueue_many(&server, &of("acme", "q"), 3);
    let acme = caller(&server, "acme");
    let read = |cursor: &serde_json::Value| {
        let after = cursor.as_str().map_or_else(String::new, |id| format!("?after={id}"));
        let page = acme.get(&format!("/ojs/v1/events{after}")).expect(200);
        (list(&page["events"]).len(), page["gap"].clone(), page["cursor"].clone())
    };
    let (seen, gap, first) = read(&json!(null));
    assert_eq!((seen, gap), (3, json!(false)));
    enqueue_many(&server, &of("acme", "q"), 1);
    enqueue_many(&server, &of("beta", "q"), 40);
    let (seen, gap, second) = read(&first);
    assert_eq!((seen, gap), (1, json!(false)));
    enqueue_many(&server, &of("beta", "q"), 40);
    // Nothing of acme's was lost behind the second cursor, and something behind the first.
    let (seen, gap, third) = read(&second);
    assert_eq!((seen, gap), (0, json!(false)));
    let (seen, gap, _) = read(&first);
    assert_eq!((seen, gap), (0, json!(true)));
    assert_eq!(read(&third).1, json!(false));
}
