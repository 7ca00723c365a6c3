//! Namespace, shared and sharded: what differs.

use serde_json::json;

use crate::api::{caller, enqueue_many, list, of, start, tally, tenants, try_fetch};
use crate::shorthand::{ids, job_on, job_with};
use crate::support::Server;

const NAMESPACE: (&str, &str) = ("ROTA_TENANCY_ISOLATION", "namespace");
const SHARED: (&str, &str) = ("ROTA_TENANCY_ISOLATION", "shared");
const SHARDED: (&str, &str) = ("ROTA_TENANCY_ISOLATION", "sharded");

/// Three jobs of one tenant, then one of another, and the order in which they come.
fn order(server: &Server) -> Vec<String> {
    enqueue_many(server, &of("acme", "q"), 3);
    enqueue_many(server, &of("beta", "q"), 1);
    tenants(&server.fetch("q", 9))
}

#[test]
fn sharded_is_the_default_and_always_fair() {
    for environment in [&[][..], &[SHARDED]] {
        let server = start(environment);
        let served = order(&server);
        let beta = served.iter().position(|tenant| tenant == "beta").unwrap();
        assert!(beta <= 1, "{served:?}");
    }
}

#[test]
fn shared_dispatches_in_the_order_of_enqueueing() {
    let server = start(&[SHARED]);
    assert_eq!(order(&server), ["acme", "acme", "acme", "beta"]);
}

#[test]
fn shared_is_fair_when_fairness_is_on() {
    let server = start(&[SHARED, ("ROTA_FAIRNESS_ENABLED", "true")]);
    let served = order(&server);
    assert!(served[..2].contains(&"beta".to_owned()), "{served:?}");
}

#[test]
fn tenant_fairness_of_the_configuration_makes_shared_queues_fair() {
    let fair_share = json!({"enabled": true, "strategy": "fair-share", "default_weight": 1,
        "weights": {"tenant:big": 3, "small": 1}});
    let server = start(&[SHARED, ("ROTA_TENANT_FAIRNESS", &fair_share.to_string())]);
    enqueue_many(&server, &of("big", "q"), 100);
    enqueue_many(&server, &of("small", "q"), 100);
    let served = tenants(&server.fetch("q", 40));
    let counts = tally(&served);
    assert!((27..=33).contains(&counts["big"]), "{counts:?}");
}

#[test]
fn a_tenants_own_weight_wins_over_the_configured_share() {
    let fair_share = json!({"enabled": true, "strategy": "fair-share", "weights": {"acme": 9}});
    let server = start(&[("ROTA_TENANT_FAIRNESS", &fair_share.to_string())]);
    crate::api::put_tenant(&server, "acme", json!({"fairness_weight": 1}));
    enqueue_many(&server, &of("acme", "q"), 50);
    enqueue_many(&server, &of("beta", "q"), 50);
    let served = tenants(&server.fetch("q", 20));
    assert!((9..=11).contains(&tally(&served)["acme"]), "{served:?}");
}

#[test]
fn in_namespaces_every_call_needs_a_tenant() {
    let server = start(&[NAMESPACE]);
    server.post("/ojs/v1/jobs", job_on("q")).expect(422);
    try_fetch(&server, json!({"queues": ["q"]})).expect(422);
    server.get(&format!("/ojs/v1/jobs/{}", crate::shorthand::NOBODY)).expect(422);
    for path in ["/ojs/v1/queues", "/ojs/v1/cron", "/ojs/v1/dead-letter", "/ojs/v1/events"] {
        server.get(path).expect(422);
    }
    for open in ["/health", "/ready", "/ojs/manifest", "/ojs/v1/health", "/ojs/v1/admin/tenants"] {
        server.get(open).expect(200);
    }
    assert_eq!(server.get("/metrics").status, 200);
    // The body names a tenant as well as a header does.
    server.post("/ojs/v1/jobs", of("acme", "q")).expect(201);
}

#[test]
fn in_namespaces_workers_serve_one_tenant() {
    let server = start(&[NAMESPACE]);
    let (acme, beta) = (caller(&server, "acme"), caller(&server, "beta"));
    let id = acme.enqueue(job_on("q"));
    assert!(beta.fetch("q", 9).is_empty());
    assert_eq!(ids(&acme.fetch("q", 9)), [id]);
}

#[test]
fn in_namespaces_queues_exist_per_tenant() {
    let server = start(&[NAMESPACE]);
    let (acme, beta) = (caller(&server, "acme"), caller(&server, "beta"));
    acme.enqueue(job_on("q"));
    beta.enqueue(job_on("other"));
    let names = |answer: serde_json::Value| {
        list(&answer["queues"]).iter().map(|queue| queue["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(acme.get("/ojs/v1/queues").expect(200)), ["q"]);
    assert_eq!(names(beta.get("/ojs/v1/queues").expect(200)), ["other"]);
    acme.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    let id = beta.enqueue(job_on("q"));
    assert_eq!(ids(&beta.fetch("q", 9)), [id]);
    assert!(acme.fetch("q", 9).is_empty());
}

#[test]
fn in_namespaces_a_limit_is_the_tenants_own() {
    let server = start(&[NAMESPACE]);
    let (acme, beta) = (caller(&server, "acme"), caller(&server, "beta"));
    let job = job_with("q", json!({"rate_limit": {"key": "api", "concurrency": 1}}));
    for who in [acme, beta] {
        who.enqueue(job.clone());
        who.enqueue(job.clone());
        assert_eq!(who.fetch("q", 9).len(), 1);
    }
}

#[test]
fn in_namespaces_a_global_limit_must_be_declared_by_an_operator() {
    let limit = json!({"key": "api", "concurrency": 1, "scope": "global"});
    let job = job_with("q", json!({"rate_limit": limit}));
    let server = start(&[NAMESPACE]);
    caller(&server, "acme").post("/ojs/v1/jobs", job.clone()).expect(422);
    let declared = json!({"api": {"concurrency": 1}}).to_string();
    let server = start(&[NAMESPACE, ("ROTA_RATE_LIMITS", &declared)]);
    let (acme, beta) = (caller(&server, "acme"), caller(&server, "beta"));
    acme.enqueue(job.clone());
    beta.enqueue(job);
    assert_eq!(acme.fetch("q", 9).len() + beta.fetch("q", 9).len(), 1);
}
