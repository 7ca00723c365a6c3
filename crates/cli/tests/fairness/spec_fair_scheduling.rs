//! The rows of the fair scheduling extension.

use std::collections::HashSet;

use serde_json::json;

use crate::api::{
    assert_has, assert_members, count, enqueue_many, fetch, fetch_singly, fresh, list, of,
    put_pool, queues, shared, start, tenants,
};
use crate::shorthand::{ack, fresh_queue, ids, job_on};
use crate::support::in_one_minute;

#[test]
fn fs_001_each_job_goes_to_exactly_one_worker() {
    let server = shared();
    let queue = fresh_queue();
    let sent: HashSet<String> = enqueue_many(&server, &job_on(&queue), 200).into_iter().collect();
    let got: Vec<String> = std::thread::scope(|scope| {
        let work = || (0..30).flat_map(|_| ids(&server.fetch(&queue, 2))).collect::<Vec<_>>();
        let workers: Vec<_> = (0..6).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(got.len(), 200);
    assert_eq!(got.into_iter().collect::<HashSet<_>>(), sent);
}

#[test]
fn fs_002_a_worker_consumes_from_several_queues() {
    let server = shared();
    let names: Vec<String> = (0..3).map(|_| fresh_queue()).collect();
    for queue in &names {
        enqueue_many(&server, &job_on(queue), 2);
    }
    let jobs = fetch(&server, json!({"queues": names, "count": 9}));
    assert_eq!(queues(&jobs).into_iter().collect::<HashSet<_>>(), names.into_iter().collect());
    assert_eq!(jobs.len(), 6);
}

#[test]
fn fs_003_round_robin_weighted_and_least_loaded_are_served() {
    let server = shared();
    for (strategy, expected) in
        [("round-robin", [3, 3]), ("weighted", [4, 2]), ("least-loaded", [6, 0])]
    {
        let (a, b) = (fresh_queue(), fresh_queue());
        enqueue_many(&server, &job_on(&a), 20);
        enqueue_many(&server, &job_on(&b), 6);
        let mut ask = json!({"queues": [a, b], "strategy": strategy});
        if strategy == "weighted" {
            ask["weights"] = json!({&*a: 2, &*b: 1});
        }
        let served = queues(&fetch_singly(&server, &ask, 6));
        assert_eq!([count(&served, &a), count(&served, &b)], expected, "{strategy}");
    }
}

#[test]
fn fs_004_pools_are_listed() {
    let server = shared();
    let pool = fresh("critical-workers");
    put_pool(
        &server,
        &pool,
        json!({"queues": ["critical", "payments"], "concurrency": 20, "strategy": "strict"}),
    );
    let items = list(&server.get("/ojs/v1/admin/pools?per_page=100").expect(200)["items"]);
    let shown = items.iter().find(|one| one["name"] == *pool).unwrap();
    assert_has(
        shown,
        json!({"queues": ["critical", "payments"], "concurrency": 20, "strategy": "strict",
            "active_workers": 0, "active_jobs": 0}),
    );
}

#[test]
fn fs_r001_a_pool_has_queues_and_a_concurrency() {
    let server = shared();
    let (pool, queue) = (fresh("pool"), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue], "concurrency": 2}));
    let sent = enqueue_many(&server, &job_on(&queue), 4);
    let ask =
        |worker: &str| json!({"queues": [queue], "pool": pool, "worker_id": worker, "count": 9});
    let (one, two) = (fresh("w"), fresh("w"));
    assert_eq!(fetch(&server, ask(&one)).len(), 2);
    assert!(fetch(&server, ask(&two)).is_empty());
    ack(&server, &sent[0]);
    assert_eq!(fetch(&server, ask(&two)).len(), 1);
}

#[test]
fn fs_r002_weights_are_configurable() {
    let server = shared();
    let (pool, a, b, c) = (fresh("pool"), fresh_queue(), fresh_queue(), fresh_queue());
    let weights = json!({&*a: 3, &*b: 2, &*c: 1});
    put_pool(
        &server,
        &pool,
        json!({"queues": [a, b, c], "strategy": "weighted", "weights": weights}),
    );
    for queue in [&a, &b, &c] {
        enqueue_many(&server, &job_on(queue), 60);
    }
    let ask = json!({"queues": [a, b, c], "pool": pool, "worker_id": fresh("w")});
    let served = queues(&fetch_singly(&server, &ask, 60));
    for (queue, share, weight) in [(&a, 30, 3), (&b, 20, 2), (&c, 10, 1)] {
        assert!(count(&served, queue).abs_diff(share) <= weight, "{queue}: {served:?}");
    }
}

#[test]
fn fs_r003_no_queue_starves() {
    let server = shared();
    let (pool, hot, cold) = (fresh("pool"), fresh_queue(), fresh_queue());
    let prevention =
        json!({"enabled": true, "rotation_interval": "PT30S", "min_dispatch_ratio": 0.1});
    let shown = put_pool(
        &server,
        &pool,
        json!({"queues": [hot, cold], "strategy": "strict", "starvation_prevention": prevention}),
    );
    assert_has(&shown["starvation_prevention"], prevention);
    enqueue_many(&server, &job_on(&hot), 100);
    enqueue_many(&server, &job_on(&cold), 20);
    let ask = json!({"queues": [hot, cold], "pool": pool, "worker_id": fresh("w")});
    let served = queues(&fetch_singly(&server, &ask, 60));
    assert!(count(&served, &cold) >= 5, "{served:?}");
    assert!(count(&served, &hot) > 40, "{served:?}");
}

#[test]
fn fs_r004_scheduling_has_statistics() {
    let shown = in_one_minute(|| {
        let server = start(&[]);
        enqueue_many(&server, &job_on("critical"), 3);
        server.fetch("critical", 2);
        server.get("/ojs/v1/admin/scheduling/stats").expect(200)
    });
    assert_eq!(shown["window"], "PT1M");
    assert_members(&shown, &["stats"]);
    let rows = list(&shown["queues"]);
    let row = rows.iter().find(|row| row["name"] == "critical").unwrap();
    assert_has(row, json!({"dispatch_count_1m": 2, "dispatch_ratio_1m": 1.0, "active_jobs": 2}));
    assert_members(row, &["avg_wait_ms"]);
}

#[test]
fn fs_r005_tenants_share_fairly() {
    let server = start(&[]);
    enqueue_many(&server, &of("enterprise-a", "q"), 1000);
    enqueue_many(&server, &of("startup-b", "q"), 10);
    let served = tenants(&fetch_singly(&server, &json!({"queues": ["q"]}), 20));
    assert_eq!(count(&served, "startup-b"), 10, "{served:?}");
}

#[test]
fn fs_r006_an_isolated_pool_is_not_drained_by_others() {
    let server = shared();
    let (pool, general, queue) = (fresh("gpu"), fresh("general"), fresh_queue());
    put_pool(&server, &pool, json!({"queues": [queue], "isolated": true}));
    put_pool(&server, &general, json!({"queues": [queue]}));
    server.enqueue(job_on(&queue));
    let ask = |name: &str| json!({"queues": [queue], "pool": name, "worker_id": fresh("w")});
    assert!(server.fetch(&queue, 1).is_empty());
    assert!(fetch(&server, ask(&general)).is_empty());
    assert_eq!(fetch(&server, ask(&pool)).len(), 1);
}
