//! Tenants' shares as settings and routes change them. How turns are taken is proven in the engine's tests.

use serde_json::{Value, json};

use crate::api::{
    assert_has, assert_members, count, enqueue_many, fetch_singly, list, of, put_tenant, start,
    tally, tenants,
};
use crate::shorthand::{ack, text};
use crate::support::{Server, in_one_minute};

fn ask() -> Value {
    json!({"queues": ["q"]})
}

/// The tenants of so many single fetches, in order.
#[track_caller]
fn served(server: &Server, times: usize) -> Vec<String> {
    tenants(&fetch_singly(server, &ask(), times))
}

fn weigh(server: &Server, tenant: &str, weight: u32) {
    put_tenant(server, tenant, json!({"fairness_weight": weight}));
}

/// At no point is a tenant more than one round away from its share.
#[track_caller]
fn assert_shares(served: &[String], weights: &[(&str, usize)]) {
    let total: usize = weights.iter().map(|(_, weight)| weight).sum();
    for (tenant, weight) in weights {
        for n in 1..=served.len() {
            let got = count(&served[..n], tenant) as f64;
            let share = (n * weight) as f64 / total as f64;
            let room = (*weight as f64).max(1.0);
            assert!(
                (got - share).abs() <= room,
                "{tenant}: {got}, not {share}, of {n}: {served:?}"
            );
        }
    }
}

#[test]
fn weights_are_shares_and_a_new_one_counts_at_once() {
    let server = start(&[]);
    let weights = [("acme-corp", 10), ("beta-inc", 5), ("gamma-llc", 1)];
    for (tenant, weight) in weights {
        weigh(&server, tenant, weight as u32);
        enqueue_many(&server, &of(tenant, "q"), 200);
    }
    assert_shares(&tenants(&server.fetch("q", 160)), &weights);
    let limits = "/ojs/v1/admin/tenants/gamma-llc/limits";
    server.put(limits, json!({"fairness_weight": 5})).expect(200);
    let weights = [("acme-corp", 10), ("beta-inc", 5), ("gamma-llc", 5)];
    assert_shares(&tenants(&server.fetch("q", 100)), &weights);
}

#[test]
fn round_robin_as_a_strategy_knows_no_weights() {
    let server = start(&[("ROTA_FAIRNESS_STRATEGY", "round-robin")]);
    for (tenant, weight) in [("acme", 10), ("beta", 1)] {
        weigh(&server, tenant, weight);
        enqueue_many(&server, &of(tenant, "q"), 50);
    }
    assert_shares(&served(&server, 40), &[("acme", 1), ("beta", 1)]);
}

#[test]
fn strict_gives_each_tenant_its_own_concurrency() {
    let tenants_of = json!({"acme": {"concurrency": 4}, "beta": {"concurrency": 2}}).to_string();
    let environment = [
        ("ROTA_FAIRNESS_STRATEGY", "strict"),
        ("ROTA_FAIRNESS_COST", "runtime"),
        ("ROTA_FAIRNESS_DEFAULT_CONCURRENCY", "3"),
        ("ROTA_TENANTS", &tenants_of),
    ];
    let server = start(&environment);
    let shown = server.get("/ojs/v1/admin/fairness").expect(200);
    assert_has(&shown, json!({"strategy": "strict", "cost": "runtime"}));
    for tenant in ["acme", "beta", "other"] {
        enqueue_many(&server, &of(tenant, "q"), 10);
    }
    let jobs = server.fetch("q", 100);
    let names = tenants(&jobs);
    let counts = tally(&names);
    assert_eq!((counts["acme"], counts["beta"], counts["other"]), (4, 2, 3));
    let beta = jobs.iter().find(|job| crate::api::tenant(job) == "beta").unwrap();
    ack(&server, &text(&beta["id"]));
    assert_eq!(tenants(&server.fetch("q", 100)), ["beta"]);
}

#[test]
fn the_default_weight_is_a_setting() {
    let server = start(&[("ROTA_FAIRNESS_DEFAULT_WEIGHT", "4")]);
    weigh(&server, "acme", 1);
    enqueue_many(&server, &of("acme", "q"), 50);
    enqueue_many(&server, &of("beta", "q"), 50);
    assert_shares(&served(&server, 40), &[("acme", 1), ("beta", 4)]);
}

#[test]
fn fairness_is_shown() {
    let (server, shown) = in_one_minute(|| {
        let server = start(&[]);
        for (tenant, weight) in [("acme", 3), ("beta", 1)] {
            weigh(&server, tenant, weight);
            enqueue_many(&server, &of(tenant, "q"), 20);
        }
        served(&server, 8);
        let shown = server.get("/ojs/v1/admin/fairness").expect(200);
        (server, shown)
    });
    assert_has(
        &shown,
        json!({"strategy": "weighted", "cost": "job", "priority_scope": "global",
            "enabled": true, "window": "PT1M", "total_dispatched_1m": 8}),
    );
    let rows = list(&shown["tenants"]);
    assert_has(
        &rows[0],
        json!({"tenant_id": "acme", "weight": 3, "effective_weight": 3, "backlog": 14,
            "active": 6, "dispatched_1m": 6, "throttled": false, "entitled_share": 0.75,
            "actual_share": 0.75}),
    );
    assert_members(&rows[1], &["backlog", "entitled_share", "actual_share"]);
    assert_eq!(list(&server.get("/ojs/v1/admin/fairness?limit=1").expect(200)["tenants"]).len(), 1);
}
