use rota_model::QueueStrategy;

use super::harness::{Stand, count};
use crate::Config;
use crate::scheduler::{Notice, Reconfigured, TenantRules};

#[test]
fn tenants_are_within_one_round_of_their_shares_at_every_moment() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    for (id, weight) in [("ten", 10.0), ("five", 5.0), ("one", 1.0)] {
        let tenant = stand.tenant(id, weight);
        let class = stand.class(queue, tenant);
        stand.enter(class, 500);
    }
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    let served = stand.serve(&ask, 320);
    for n in 1..=served.len() {
        for (id, weight) in [("ten", 10), ("five", 5), ("one", 1)] {
            let off = (16 * count(&served[..n], id)).abs_diff(weight * n);
            assert!(off <= 16, "{id} after {n}");
        }
    }
}

#[test]
fn whoever_was_idle_has_saved_nothing() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let [busy, late] = ["busy", "late"].map(|id| {
        let tenant = stand.tenant(id, 1.0);
        stand.class(queue, tenant)
    });
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    stand.enter(busy, 200);
    stand.serve(&ask, 100);
    stand.enter(late, 100);
    let served = stand.serve(&ask, 20);
    assert_eq!((count(&served, "busy"), count(&served, "late")), (10, 10));
}

#[test]
fn a_weight_counts_from_the_next_job() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let [light, other] = ["light", "other"].map(|id| stand.tenant(id, 0.01));
    for tenant in [light, other] {
        let class = stand.class(queue, tenant);
        stand.enter(class, 300);
    }
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    stand.serve(&ask, 10);
    let weight = rota_model::Weight::new(1.0).unwrap();
    let rules = TenantRules { weight, cap: None, boost: 0, max_priority: None };
    stand.scheduler.reconfigured(Reconfigured::Tenant(light, rules));
    let served = stand.serve(&ask, 101);
    assert!(count(&served, "light") >= 99, "{}", count(&served, "light"));
}

#[test]
fn a_higher_level_goes_first_and_an_older_job_within_it() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let tenant = stand.tenant("t", 1.0);
    let [low, high, same] = [0, 9, 9].map(|level| stand.class_with(queue, tenant, level, None));
    let jobs = [low, high, same, high].map(|class| stand.enter(class, 1)[0]);
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    let served: Vec<_> = (0..4).map(|_| stand.start(&ask).unwrap().seq).collect();
    assert_eq!(served, [jobs[1], jobs[2], jobs[3], jobs[0]]);
}

#[test]
fn a_tenant_at_its_cap_is_passed_over_and_said_to_be() {
    let mut stand = Stand::new();
    let queue = stand.queue();
    let capped = stand.tenant_with("capped", |rules| rules.cap = Some(1));
    let free = stand.tenant("free", 1.0);
    for tenant in [capped, free] {
        let class = stand.class(queue, tenant);
        stand.enter(class, 5);
    }
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    let first = stand.start(&ask).unwrap();
    assert!((0..5).all(|_| stand.start(&ask).is_some()), "the other one's jobs");
    assert!(stand.start(&ask).is_none());
    assert!(stand.notices().iter().any(|notice| matches!(notice, Notice::TenantCapped(_))));
    stand.end(&first);
    assert_eq!(stand.start(&ask).unwrap().class, first.class);
}

#[test]
fn without_fairness_jobs_go_in_the_order_of_their_numbers() {
    let mut config = Config::default();
    config.fairness.enabled = false;
    let mut stand = Stand::with(&config);
    let queue = stand.queue();
    let classes = ["a", "b", "c"].map(|id| {
        let tenant = stand.tenant(id, 1.0);
        stand.class(queue, tenant)
    });
    let jobs: Vec<_> = (0..30).flat_map(|n| stand.enter(classes[n * n % 3], 1)).collect();
    let ask = stand.ask(&[queue], QueueStrategy::Strict);
    let served: Vec<_> = (0..30).map(|_| stand.start(&ask).unwrap().seq).collect();
    assert_eq!(served, jobs);
}
