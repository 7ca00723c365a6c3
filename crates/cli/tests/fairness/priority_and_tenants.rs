//! Priority and tenants: which of the two decides.

use serde_json::{Value, json};

use crate::api::{enqueue_many, of, of_with, put_tenant, start, tally, tenants};
use crate::shorthand::ids;

fn at(tenant: &str, priority: i32) -> Value {
    of_with(tenant, "q", json!({"priority": priority}))
}

#[test]
fn priority_can_be_a_matter_within_a_tenant() {
    let server = start(&[("ROTA_FAIRNESS_PRIORITY_SCOPE", "tenant")]);
    enqueue_many(&server, &at("acme", 0), 1);
    let urgent = enqueue_many(&server, &at("acme", 100), 9);
    enqueue_many(&server, &at("beta", 0), 10);
    let jobs = server.fetch("q", 10);
    let names = tenants(&jobs);
    assert_eq!((tally(&names)["acme"], tally(&names)["beta"]), (5, 5), "{names:?}");
    let own: Vec<Value> =
        jobs.into_iter().filter(|job| crate::api::tenant(job) == "acme").collect();
    assert_eq!(ids(&own), urgent[..5]);
}

#[test]
fn a_boost_lifts_what_already_waits() {
    let server = start(&[]);
    enqueue_many(&server, &of("acme", "q"), 5);
    let before = enqueue_many(&server, &of("premium", "q"), 3);
    put_tenant(&server, "premium", json!({"priority_boost": 10}));
    let after = enqueue_many(&server, &of("premium", "q"), 2);
    assert_eq!(ids(&server.fetch("q", 5)), [before, after].concat());
    assert_eq!(tenants(&server.fetch("q", 5)), vec!["acme"; 5]);
}

#[test]
fn a_boost_is_added_to_the_jobs_own_priority() {
    let server = start(&[]);
    put_tenant(&server, "premium", json!({"priority_boost": 5}));
    let below = server.enqueue(at("premium", 0));
    let urgent = server.enqueue(at("acme", 7));
    let lifted = server.enqueue(at("premium", 3));
    let low = server.enqueue(at("acme", 4));
    assert_eq!(ids(&server.fetch("q", 9)), [lifted, urgent, below, low]);
}

#[test]
fn a_highest_priority_caps_what_a_tenant_may_ask() {
    let server = start(&[]);
    put_tenant(&server, "pushy", json!({"max_priority": 0}));
    let pushy = server.enqueue(at("pushy", 100));
    let modest = server.enqueue(at("acme", 5));
    assert_eq!(ids(&server.fetch("q", 9)), [modest, pushy]);
}
