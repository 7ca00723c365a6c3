use crate::world::{World, count, job};
use rota_engine::{Config, Cost, Fairness, PriorityScope};
use serde_json::json;

#[test]
fn tenants_take_turns_however_much_they_have() {
    let mut world = World::new();
    world.enqueue(&job("giant"), 1_000);
    world.enqueue(&job("a"), 3);
    world.enqueue(&job("b"), 3);
    let served = world.served(9);
    for three in served.chunks(3) {
        for tenant in ["giant", "a", "b"] {
            assert_eq!(count(three, tenant), 1, "{served:?}");
        }
    }
    assert_eq!(world.served(5), ["giant"; 5]);
}

#[test]
fn weights_are_shares_at_every_moment() {
    let mut world = World::new();
    for (tenant, weight) in [("acme", 10.0), ("beta", 5.0), ("gamma", 1.0)] {
        world.tenant(tenant, json!({"fairness_weight": weight}));
    }
    for tenant in ["acme", "beta", "gamma"] {
        world.enqueue(&job(tenant), 400);
    }
    let served = world.served(160);
    for n in 1..=served.len() {
        for (tenant, weight) in [("acme", 10.0), ("beta", 5.0), ("gamma", 1.0)] {
            let (got, due) = (count(&served[..n], tenant) as f64, n as f64 * weight / 16.0);
            assert!((got - due).abs() <= 2.0, "{tenant} has {got} of {due} after {n}");
        }
    }
    assert_eq!(count(&served, "acme"), 100);
}

#[test]
fn a_weight_counts_from_the_next_job_on() {
    let mut world = World::new();
    world.enqueue(&job("a"), 200);
    world.enqueue(&job("b"), 200);
    assert_eq!(count(&world.served(20), "a"), 10);
    world.tenant("a", json!({"fairness_weight": 9}));
    let a = count(&world.served(100), "a");
    assert!((88..=92).contains(&a), "{a}");
}

#[test]
fn who_was_idle_has_saved_nothing_and_who_joins_is_served_at_once() {
    let mut world = World::new();
    world.enqueue(&job("a"), 300);
    world.enqueue(&job("b"), 1);
    assert_eq!(count(&world.served(100), "b"), 1);
    world.enqueue(&job("b"), 100);
    let served = world.served(40);
    assert_eq!(count(&served[..2], "b"), 1, "{served:?}");
    assert!((19..=21).contains(&count(&served, "b")));
    world.enqueue(&job("new"), 1);
    assert_eq!(count(&world.served(3), "new"), 1);
}

#[test]
fn many_lanes_are_one_turn() {
    let mut world = World::new();
    for kind in ["a", "b", "c", "d", "e"] {
        world.enqueue(&job("many").kind(kind), 20);
        world.enqueue(&job("many").kind(kind).limit(json!({"key": kind, "concurrency": 50})), 20);
    }
    world.enqueue(&job("one"), 50);
    assert_eq!(count(&world.served(60), "one"), 30);
}

#[test]
fn priorities_go_first_and_a_boost_counts_for_what_waits_already() {
    let mut world = World::new();
    world.enqueue(&job("a"), 5);
    world.enqueue(&job("b").priority(5), 5);
    assert_eq!(world.served(2), ["b", "b"]);
    world.tenant("a", json!({"priority_boost": 6}));
    assert_eq!(world.served(5), ["a"; 5]);
    world.enqueue(&job("c").priority(100), 3);
    world.tenant("c", json!({"max_priority": 1}));
    assert_eq!(world.served(3), ["b"; 3]);
}

#[test]
fn a_boost_that_ends_ends_for_what_waits_already() {
    let mut world = World::new();
    world.tenant("boosted", json!({"priority_boost": 10}));
    world.enqueue(&job("boosted"), 8);
    world.enqueue(&job("boosted").limit(json!({"key": "k", "concurrency": 9})), 8);
    world.enqueue(&job("other"), 20);
    assert_eq!(world.served(4), ["boosted"; 4]);
    world.tenant("boosted", json!({"priority_boost": 0}));
    let served = world.served(20);
    for n in 1..=served.len() {
        let [boosted, other] = ["boosted", "other"].map(|tenant| count(&served[..n], tenant));
        assert!(boosted.abs_diff(other) <= 1, "{served:?}");
    }
}

#[test]
fn urgency_is_a_tenants_own_affair_where_the_operator_says_so() {
    let fairness = Fairness { priority_scope: PriorityScope::Tenant, ..Fairness::default() };
    let mut world = World::with(Config { fairness, ..Config::default() });
    world.enqueue(&job("calm").priority(-5), 2);
    world.enqueue(&job("urgent").priority(100), 50);
    world.enqueue(&job("calm").priority(5), 10);
    assert_eq!(count(&world.served(20), "calm"), 10);
    let fetched = world.fetch(2);
    assert_eq!(fetched.len(), 2);
}

#[test]
fn without_fairness_jobs_go_in_the_order_in_which_they_came() {
    let fairness = Fairness { enabled: false, ..Fairness::default() };
    let mut world = World::with(Config { fairness, ..Config::default() });
    for tenant in ["a", "b", "a", "c", "b", "a"] {
        world.enqueue(&job(tenant), 2);
    }
    let expected = ["a", "a", "b", "b", "a", "a", "c", "c", "b", "b", "a", "a"];
    assert_eq!(world.served(20), expected);

    // And so they do behind a key that was closed while they came.
    let key = |tenant| job(tenant).limit(json!({"key": "k", "concurrency": 1}));
    world.enqueue(&key("z"), 1);
    let holder = world.fetch(1).pop().unwrap();
    for tenant in ["c", "b", "a", "c", "b", "a"] {
        world.enqueue(&key(tenant), 2);
    }
    assert!(world.fetch(1).is_empty());
    world.ack(holder.seq);
    assert_eq!(world.served(12), ["c", "c", "b", "b", "a", "a", "c", "c", "b", "b", "a", "a"]);
}

#[test]
fn nobody_who_waits_for_a_key_loses_its_place_to_one_that_is_served_otherwise() {
    let mut world = World::new();
    let key = |tenant| job(tenant).limit(json!({"key": "k", "concurrency": 1}));
    world.enqueue(&key("holder"), 1);
    let holder = world.fetch(1).pop().unwrap();
    world.enqueue(&key("a"), 3);
    world.enqueue(&key("b"), 3);
    world.enqueue(&job("a"), 3);
    world.enqueue(&job("c"), 6);
    // Meanwhile `a` is served otherwise, as often as `c`, and `b` not at all.
    let served = world.served(4);
    assert_eq!((count(&served, "a"), count(&served, "c")), (2, 2));
    world.ack(holder.seq);
    assert_eq!(world.served(1), ["b"]);
    let rest = world.served(20);
    assert_eq!((count(&rest, "a"), count(&rest, "b"), count(&rest, "c")), (4, 2, 4));
}

#[test]
fn a_fetch_for_a_tenant_gets_only_its_jobs() {
    let mut world = World::new();
    world.enqueue(&job("a"), 5);
    world.enqueue(&job("b").priority(9), 2);
    let tenant = rota_model::TenantId::parse("b").unwrap();
    let fetched = world.fetch_with(&["default"], 10, |fetch| fetch.tenant = Some(tenant));
    assert_eq!(fetched.len(), 2);
    assert!(fetched.iter().all(|job| world.owner(job.seq) == "b"));
}

#[test]
fn what_was_taken_out_of_turn_is_caught_up_with_unless_weights_change() {
    let fairness = Fairness { charge_own_workers: true, ..Fairness::default() };
    let mut world = World::with(Config { fairness, ..Config::default() });
    world.enqueue(&job("a"), 9);
    world.enqueue(&job("b"), 9);
    assert_eq!(world.served(2).len(), 2);
    let tenant = rota_model::TenantId::parse("a").unwrap();
    let taken = world.fetch_with(&["default"], 3, |fetch| fetch.tenant = Some(tenant));
    assert_eq!(taken.len(), 3);
    world.tenant("a", json!({"limits": {"max_queue_depth": 100}}));
    assert_eq!(world.served(3), ["b"; 3]);
}

#[test]
fn slow_jobs_do_not_win_capacity_when_time_is_what_counts() {
    let fairness = Fairness { cost: Cost::Runtime, ..Fairness::default() };
    let mut world = World::with(Config { fairness, ..Config::default() });
    world.enqueue(&job("slow").kind("slow"), 2_000);
    world.enqueue(&job("fast").kind("fast"), 2_000);
    let (mut slow_ms, mut fast_ms) = (0, 0);
    for _ in 0..1_000 {
        let claimed = world.fetch(1).pop().unwrap();
        let slow = world.owner(claimed.seq) == "slow";
        let ms = if slow { 100 } else { 10 };
        *(if slow { &mut slow_ms } else { &mut fast_ms }) += ms;
        world.pass(ms);
        world.ack(claimed.seq);
    }
    let ratio = slow_ms as f64 / fast_ms as f64;
    assert!((0.8..1.25).contains(&ratio), "{slow_ms} against {fast_ms}");
}

#[test]
fn what_a_job_did_not_take_is_given_back_however_many_run_at_once() {
    let fairness = Fairness { cost: Cost::Runtime, ..Fairness::default() };
    let mut world = World::with(Config { fairness, ..Config::default() });
    world.tenant("slow", json!({"fairness_weight": 5}));
    // Of one type, so that both are held to take the same until they have ended.
    world.enqueue(&job("slow"), 500);
    world.enqueue(&job("fast"), 2_000);
    let mut spent = std::collections::BTreeMap::new();
    let mut running: Vec<(u64, rota_model::Seq)> = Vec::new();
    while world.mono < 60_000 {
        while running.len() < 4 {
            let claimed = world.fetch(1).pop().unwrap();
            let ms = if world.owner(claimed.seq) == "slow" { 1_000 } else { 50 };
            *spent.entry(world.owner(claimed.seq)).or_insert(0) += ms;
            running.push((world.mono + ms, claimed.seq));
        }
        running.sort_unstable();
        let (ends, seq) = running.remove(0);
        world.pass(ends - world.mono);
        world.ack(seq);
    }
    let (slow, fast) = (spent["slow"], spent["fast"]);
    let ratio = slow as f64 / fast as f64;
    assert!((4.6..5.4).contains(&ratio), "{slow} against {fast}");
}

#[test]
fn at_every_moment_tenants_have_had_time_by_weight_to_within_a_job() {
    let fairness = Fairness { cost: Cost::Runtime, ..Fairness::default() };
    let mut world = World::with(Config { fairness, ..Config::default() });
    let tenants = [("a", 1, 120), ("b", 2, 10), ("c", 4, 45)];
    for (tenant, weight, _) in tenants {
        world.tenant(tenant, json!({"fairness_weight": weight}));
        world.enqueue(&job(tenant).kind(tenant), 1_500);
    }
    let mut spent = [0; 3];
    for n in 0..1_000 {
        let claimed = world.fetch(1).pop().unwrap();
        let owner = world.owner(claimed.seq);
        let ix = tenants.iter().position(|(tenant, ..)| *tenant == owner).unwrap();
        world.pass(tenants[ix].2);
        world.ack(claimed.seq);
        spent[ix] += tenants[ix].2;
        let by_weight = [0, 1, 2].map(|ix| spent[ix] as f64 / f64::from(tenants[ix].1));
        let (least, most) = by_weight
            .into_iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), ms| (least.min(ms), most.max(ms)));
        assert!(most - least <= 120.0, "after {n}: {spent:?}");
    }
}
