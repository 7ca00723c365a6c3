//! Shares within a queue, and across all queues of a pool or fetch.

use serde_json::{Value, json};

use crate::api::{
    assert_has, caller, count, enqueue_many, fetch, of, put_pool, put_tenant, start, tenants,
};
use crate::support::Server;

const TENANTS: [(&str, f64); 3] = [("acme-corp", 10.0), ("beta-inc", 5.0), ("gamma-llc", 1.0)];

/// Three tenants with weights of 10, 5 and 1, each with a queue of its own.
fn three_tenants(server: &Server) -> Vec<String> {
    let queue_of = |(tenant, weight): (&str, f64)| {
        let queue = format!("{tenant}-work");
        put_tenant(server, tenant, json!({"fairness_weight": weight}));
        enqueue_many(server, &of(tenant, &queue), 200);
        queue
    };
    TENANTS.map(queue_of).to_vec()
}

/// How many of these jobs each of the three tenants got.
fn jobs_of_each(jobs: &[Value]) -> [usize; 3] {
    let served = tenants(jobs);
    TENANTS.map(|(tenant, _)| count(&served, tenant))
}

/// 62.5, 31.25 and 6.25 % of 160 jobs.
#[track_caller]
fn assert_by_weight(got: [usize; 3]) {
    for (got, share) in got.into_iter().zip([100, 50, 10]) {
        assert!(got.abs_diff(share) <= 10, "{got} instead of {share}");
    }
}

#[test]
fn in_pool_scope_a_fetch_serves_tenants_by_weight_over_all_its_queues() {
    let server = start(&[("ROTA_FAIRNESS_SCOPE", "pool")]);
    let queues = three_tenants(&server);
    let ask = json!({"queues": queues, "strategy": "round-robin", "count": 160});
    assert_by_weight(jobs_of_each(&fetch(&server, ask)));
}

#[test]
fn a_pool_may_have_its_own_scope() {
    let server = start(&[]);
    let queues = three_tenants(&server);
    let shown = put_pool(&server, "all", json!({"queues": queues, "fairness_scope": "pool"}));
    assert_has(&shown, json!({"fairness_scope": "pool", "fairness_scope_inherited": false}));
    let jobs = fetch(&server, json!({"pool": "all", "worker_id": "w1", "count": 160}));
    assert_by_weight(jobs_of_each(&jobs));
    let outside = json!({"queues": queues, "strategy": "round-robin", "count": 30});
    assert_eq!(jobs_of_each(&fetch(&server, outside)), [10, 10, 10]);
}

#[test]
fn the_scope_in_force_is_shown() {
    let mut server = start(&[("ROTA_FAIRNESS_SCOPE", "pool")]);
    let inherits = put_pool(&server, "inherits", json!({"queues": ["a"]}));
    assert_has(&inherits, json!({"fairness_scope": "pool", "fairness_scope_inherited": true}));
    put_pool(&server, "own", json!({"queues": ["a"], "fairness_scope": "queue"}));
    put_pool(&server, "same", json!({"queues": ["a"], "fairness_scope": "pool"}));
    server.kill();
    server.restart();
    let own = server.get("/ojs/v1/admin/pools/own").expect(200);
    assert_has(&own, json!({"fairness_scope": "queue", "fairness_scope_inherited": false}));
    let shares = server.get("/ojs/v1/admin/fairness").expect(200);
    assert_has(
        &shares,
        json!({"scope": "pool", "pools_with_other_scope": ["own"], "charge_own_workers": false}),
    );
}

#[test]
fn jobs_that_own_workers_take_count_only_where_the_settings_say_so() {
    for charge in [false, true] {
        let server = start(&[("ROTA_FAIRNESS_CHARGE_OWN_WORKERS", &charge.to_string())]);
        for tenant in ["acme", "beta"] {
            enqueue_many(&server, &of(tenant, "q"), 100);
        }
        assert_eq!(caller(&server, "acme").fetch("q", 50).len(), 50);
        let served = tenants(&server.fetch("q", 40));
        let [acme, beta] = ["acme", "beta"].map(|own| count(&served, own));
        match charge {
            false => assert!(acme.abs_diff(beta) <= 1, "{served:?}"),
            true => assert!(beta > acme + 1, "{served:?}"),
        }
        let shares = server.get("/ojs/v1/admin/fairness").expect(200);
        assert_eq!(shares["charge_own_workers"], charge);
    }
}
