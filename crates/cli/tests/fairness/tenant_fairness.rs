//! Who is served next: turns, weights and credit.

use serde_json::{Value, json};

use crate::api::{
    assert_has, assert_members, count, enqueue_many, fetch_singly, list, of, put_tenant, start,
    tally, tenants,
};
use crate::shorthand::{ack, text};
use crate::support::{Server, in_one_minute};
use crate::watch::nap;

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
fn tenants_take_turns_whatever_their_depth() {
    let server = start(&[]);
    enqueue_many(&server, &of("whale", "q"), 1000);
    enqueue_many(&server, &of("minnow", "q"), 10);
    enqueue_many(&server, &of("shrimp", "q"), 10);
    let order = served(&server, 30);
    assert_shares(&order, &[("whale", 1), ("minnow", 1), ("shrimp", 1)]);
    assert!(tally(&order).values().all(|count| *count == 10), "{order:?}");
    assert_eq!(count(&served(&server, 5), "whale"), 5);
}

#[test]
fn turns_are_the_same_in_one_fetch_of_many() {
    let server = start(&[]);
    enqueue_many(&server, &of("whale", "q"), 100);
    enqueue_many(&server, &of("minnow", "q"), 10);
    let order = tenants(&server.fetch("q", 20));
    assert_shares(&order, &[("whale", 1), ("minnow", 1)]);
    assert_eq!(count(&order, "minnow"), 10);
}

#[test]
fn within_a_tenant_the_order_is_that_of_enqueueing() {
    let server = start(&[]);
    let first = enqueue_many(&server, &of("acme", "q"), 10);
    let second = enqueue_many(&server, &of("beta", "q"), 10);
    let jobs = fetch_singly(&server, &ask(), 20);
    for (tenant, sent) in [("acme", first), ("beta", second)] {
        let got: Vec<String> = jobs
            .iter()
            .filter(|job| crate::api::tenant(job) == tenant)
            .map(|job| text(&job["id"]))
            .collect();
        assert_eq!(got, sent);
    }
}

#[test]
fn weights_are_shares_of_what_is_dispatched() {
    let server = start(&[]);
    let weights = [("acme-corp", 10), ("beta-inc", 5), ("gamma-llc", 1)];
    for (tenant, weight) in weights {
        weigh(&server, tenant, weight as u32);
        enqueue_many(&server, &of(tenant, "q"), 200);
    }
    assert_shares(&served(&server, 160), &weights);
}

#[test]
fn weights_hold_in_one_fetch_of_many() {
    let server = start(&[]);
    let weights = [("acme-corp", 10), ("beta-inc", 5), ("gamma-llc", 1)];
    for (tenant, weight) in weights {
        weigh(&server, tenant, weight as u32);
        enqueue_many(&server, &of(tenant, "q"), 200);
    }
    assert_shares(&tenants(&server.fetch("q", 160)), &weights);
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
fn strict_gives_each_tenant_a_concurrency_of_its_own() {
    let tenants_of = json!({"acme": {"concurrency": 4}, "beta": {"concurrency": 2}}).to_string();
    let environment = [
        ("ROTA_FAIRNESS_STRATEGY", "strict"),
        ("ROTA_FAIRNESS_DEFAULT_CONCURRENCY", "3"),
        ("ROTA_TENANTS", &tenants_of),
    ];
    let server = start(&environment);
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
fn a_new_weight_counts_at_once() {
    let server = start(&[]);
    for tenant in ["acme", "beta"] {
        enqueue_many(&server, &of(tenant, "q"), 100);
    }
    assert_shares(&served(&server, 20), &[("acme", 1), ("beta", 1)]);
    let limits = "/ojs/v1/admin/tenants/acme/limits";
    server.put(limits, json!({"fairness_weight": 3})).expect(200);
    assert_shares(&served(&server, 40), &[("acme", 3), ("beta", 1)]);
    server.put(limits, json!({"fairness_weight": 1})).expect(200);
    let after = served(&server, 20);
    assert!((8..=12).contains(&count(&after, "acme")), "{after:?}");
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
fn who_had_nothing_to_do_gains_no_credit() {
    let server = start(&[]);
    enqueue_many(&server, &of("acme", "q"), 200);
    enqueue_many(&server, &of("beta", "q"), 1);
    served(&server, 60);
    enqueue_many(&server, &of("beta", "q"), 100);
    assert_shares(&served(&server, 20), &[("acme", 1), ("beta", 1)]);
}

#[test]
fn who_joins_is_served_in_the_first_round() {
    let server = start(&[]);
    weigh(&server, "acme", 10);
    enqueue_many(&server, &of("acme", "q"), 200);
    served(&server, 25);
    enqueue_many(&server, &of("beta", "q"), 5);
    let round = served(&server, 11);
    assert!(count(&round, "beta") >= 1, "{round:?}");
}

#[test]
fn a_tenant_that_cannot_be_served_does_not_stop_the_round() {
    let server = start(&[]);
    put_tenant(&server, "held", json!({"limits": {"max_concurrency": 1}, "fairness_weight": 50}));
    for tenant in ["held", "acme", "beta"] {
        enqueue_many(&server, &of(tenant, "q"), 20);
    }
    let order = served(&server, 21);
    assert_eq!(count(&order, "held"), 1);
    assert_eq!(count(&order, "acme"), 10);
}

#[test]
fn time_can_be_what_a_tenant_pays_with() {
    // A quick job may be held up with the machine and cost more than all slow ones, but not each time.
    let quick_go_first = (0..5).any(|_| {
        let order = served_by_time();
        assert!(count(&order, "slow") >= 1, "{order:?}");
        count(&order, "quick") > count(&order, "slow")
    });
    assert!(quick_go_first);
}

/// Whose turn it was, of two that differ in how long their jobs take.
fn served_by_time() -> Vec<String> {
    let server = start(&[("ROTA_FAIRNESS_COST", "runtime")]);
    for tenant in ["slow", "quick"] {
        enqueue_many(&server, &of(tenant, "q"), 60);
    }
    let mut order = Vec::new();
    for _ in 0..40 {
        let job = fetch_singly(&server, &ask(), 1).remove(0);
        let tenant = crate::api::tenant(&job);
        nap(if tenant == "slow" { 40 } else { 1 });
        ack(&server, &text(&job["id"]));
        order.push(tenant);
    }
    order
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
