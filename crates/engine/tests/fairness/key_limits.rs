use crate::world::{World, cap_keys, concurrency, count, job, rate};
use rota_engine::{Command, Config, EventKind, LimitKind, Refusal, Reply};
use rota_model::{LimitKey, Millis, State};
use serde_json::json;

#[test]
fn no_more_are_active_than_the_key_allows_and_a_freed_slot_is_used() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(concurrency("k", 2)), 5);
    world.enqueue(&job("a"), 1);
    let first = world.fetch(10);
    assert_eq!(first.len(), 3, "two of the key, and the one behind them");
    assert!(world.fetch(10).is_empty());
    assert!(world.has_event(|e| matches!(
        e,
        EventKind::LimitExceeded { strategy: LimitKind::Concurrency, limit: 2, current: 2, .. }
    )));
    let key = LimitKey::parse("k").unwrap();
    let view = world.engine.limit(&key, None).unwrap();
    assert_eq!((view.active, view.waiting, view.numbers.concurrency), (2, 3, Some(2)));
    world.ack(first[0].seq);
    assert!(world.has_event(|e| matches!(e, EventKind::LimitReleased { .. })));
    assert_eq!(world.fetch(10).len(), 1);
    assert!(world.fetch(10).is_empty());
}

#[test]
fn a_waiting_fetch_is_woken_by_a_freed_slot_and_by_a_passed_instant() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(concurrency("k", 1)), 2);
    let first = world.fetch(1);
    let waiter = rota_engine::WaiterId(1);
    assert!(world.fetch_with(&["default"], 1, |f| f.wait = Some((waiter, 60_000))).is_empty());
    assert!(world.woken.is_empty());
    world.ack(first[0].seq);
    assert_eq!(world.woken.len(), 1);

    let mut world = World::new();
    world.enqueue(&job("a").limit(rate("k", 1, "PT10S")), 2);
    assert_eq!(world.fetch(1).len(), 1);
    world.fetch_with(&["default"], 1, |f| f.wait = Some((waiter, 60_000)));
    world.pass(9_999);
    assert!(world.woken.is_empty());
    assert_eq!(world.engine.wake_in_ms(), Some(1));
    world.pass(1);
    assert_eq!(world.woken.len(), 1);
}

#[test]
fn no_window_sees_more_than_the_rate_and_it_is_used() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(rate("stripe", 100, "PT1M")), 2_000);
    let mut starts: Vec<u64> = Vec::new();
    for step in 0..3_000 {
        world.pass(37 + step % 11 * 13);
        for claimed in world.fetch(7) {
            starts.push(world.mono);
            world.ack(claimed.seq);
        }
    }
    for (i, at) in starts.iter().enumerate() {
        let within = starts[..=i].iter().filter(|s| **s + 60_000 > *at).count();
        assert!(within <= 100, "{within} starts in the minute before {at}");
    }
    let minutes = world.mono as f64 / 60_000.0;
    assert!(starts.len() as f64 >= minutes * 99.0, "{} in {minutes} minutes", starts.len());
}

#[test]
fn a_throttle_spaces_starts_evenly() {
    let mut world = World::new();
    let limit = json!({"key": "k", "throttle": {"limit": 10, "period": "PT1S"}});
    world.enqueue(&job("a").limit(limit), 200);
    let mut starts = Vec::new();
    for _ in 0..10_000 {
        world.pass(1);
        let claimed = world.fetch(5);
        assert!(claimed.len() <= 1);
        starts.extend(claimed.iter().map(|_| world.mono));
    }
    assert!(starts.windows(2).all(|w| w[1] - w[0] >= 90), "{starts:?}");
    assert!(starts.len() >= 99, "{}", starts.len());
}

#[test]
fn all_limits_of_a_job_hold_at_once() {
    let mut world = World::new();
    let limit = json!({"key": "k", "concurrency": 3, "rate": {"limit": 5, "period": "PT10S"}});
    world.enqueue(&job("a").limit(limit), 20);
    let first = world.fetch(10);
    assert_eq!(first.len(), 3);
    first.iter().for_each(|job| world.ack(job.seq));
    assert_eq!(world.fetch(10).len(), 2);
    assert!(world.fetch(10).is_empty());
}

#[test]
fn tenants_share_a_key_fairly_and_one_with_a_scope_of_its_own_does_not_share() {
    let mut world = World::new();
    world.enqueue(&job("giant").limit(concurrency("k", 1)), 500);
    for tenant in ["a", "b", "c"] {
        world.enqueue(&job(tenant).limit(concurrency("k", 1)), 20);
    }
    let served = world.served(40);
    for tenant in ["giant", "a", "b", "c"] {
        assert!((9..=11).contains(&count(&served, tenant)), "{tenant}: {served:?}");
    }
    let own = json!({"key": "own", "concurrency": 1, "scope": "tenant"});
    let mut world = World::new();
    world.enqueue(&job("a").limit(own.clone()), 5);
    world.enqueue(&job("b").limit(own), 5);
    assert_eq!(world.fetch(10).len(), 2);
}

#[test]
fn many_blocked_lanes_reorder_nobody() {
    let mut world = World::new();
    for n in 0..200 {
        let key: &'static str = Box::leak(format!("k{n}").into_boxed_str());
        world.enqueue(&job("blocked").limit(concurrency(key, 0)), 5);
    }
    let free = world.enqueue(&job("blocked"), 10);
    let order: Vec<_> = (0..10).map(|_| world.fetch(1)[0].seq).collect();
    assert_eq!(order, free);
    assert!(world.fetch(1).is_empty());
}

#[test]
fn drop_and_reschedule_take_jobs_that_would_start() {
    let mut world = World::new();
    let drop = json!({"key": "d", "rate": {"limit": 2, "period": "PT1M"}, "on_limit": "drop"});
    world.enqueue(&job("a").limit(drop), 600);
    assert_eq!(world.fetch(1).len(), 1);
    world.pass(1);
    let queue = world.engine.queue("default").unwrap();
    assert_eq!(queue.totals.of(State::Available), 599, "nothing is dropped before it would start");
    assert_eq!(world.fetch(600).len(), 1);
    world.pass(1);
    let queue = world.engine.queue("default").unwrap();
    assert_eq!((queue.totals.of(State::Available), queue.totals.of(State::Discarded)), (0, 598));

    let mut world = World::new();
    let later =
        json!({"key": "r", "rate": {"limit": 2, "period": "PT1M"}, "on_limit": "reschedule"});
    world.enqueue(&job("a").limit(later), 8);
    assert_eq!(world.fetch(8).len(), 2);
    world.pass(1);
    let queue = world.engine.queue("default").unwrap();
    assert_eq!((queue.totals.of(State::Available), queue.totals.of(State::Scheduled)), (0, 6));
    world.pass(61_000);
    assert!(!world.fetch(8).is_empty());
}

#[test]
fn a_queue_and_a_type_are_limited_as_a_whole() {
    let mut world = World::new();
    world.enqueue(&job("a"), 5);
    world.enqueue(&job("b").limit(concurrency("k", 4)), 5);
    world.say("queue:default", json!({"concurrency": 3}), None);
    let first = world.fetch(10);
    assert_eq!(first.len(), 3);
    world.ack(first[0].seq);
    assert_eq!(world.fetch(10).len(), 1);
    world.apply(Command::ClearLimit(LimitKey::parse("queue:default").unwrap(), None));
    assert!(world.fetch(10).len() >= 5);

    let mut world = World::new();
    world.enqueue(&job("a").kind("report"), 5);
    world.enqueue(&job("a").kind("mail"), 5);
    world.say("type:report", json!({"rate": {"limit": 1, "period": "PT1M"}}), None);
    world.enqueue(&job("b").kind("report"), 5);
    assert_eq!(world.fetch(20).len(), 6);
    world.pass(60_000);
    assert_eq!(world.fetch(20).len(), 1);
}

#[test]
fn an_override_replaces_the_numbers_until_it_ends() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(concurrency("k", 2)), 20);
    world.say("k", json!({"concurrency": 0}), Some(60_000));
    assert!(world.fetch(5).is_empty());
    world.say("k", json!({"concurrency": 5}), Some(60_000));
    assert_eq!(world.fetch(10).len(), 5);
    world.pass(60_000);
    assert!(world.fetch(10).is_empty());
    world.apply(Command::ClearLimit(LimitKey::parse("k").unwrap(), None));
    assert!(world.fetch(10).is_empty());
}

#[test]
fn a_limit_elsewhere_pauses_the_key_and_costs_no_attempt() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(concurrency("k", 5)), 3);
    let first = world.fetch(1).remove(0);
    let until = Millis(world.wall().0 + 30_000);
    let settled = world.nack(first.seq, Some(until));
    assert_eq!((settled.state, settled.attempt), (State::Available, 1));
    assert!(world.has_event(|e| matches!(e, EventKind::LimitAdjusted { until: Some(_), .. })));
    assert!(world.fetch(5).is_empty());
    world.pass(29_999);
    assert!(world.fetch(5).is_empty());
    world.pass(1);
    let again = world.fetch(5);
    assert_eq!((again.len(), again[0].seq, again[0].attempt), (3, first.seq, 1));

    let mut world = World::new();
    world.enqueue(&job("a"), 2);
    let first = world.fetch(1).remove(0);
    let until = Millis(world.wall().0 + 30_000);
    assert_eq!(world.nack(first.seq, Some(until)).state, State::Retryable);
    assert_eq!(world.fetch(5).len(), 1);
    world.pass(30_000);
    assert_eq!(world.fetch(5)[0].attempt, 1);
}

#[test]
fn a_job_that_only_ever_meets_a_limit_ends() {
    let config = rota_engine::Config { most_pauses: 3, ..Default::default() };
    let mut world = World::with(config);
    world.enqueue(&job("a").limit(concurrency("k", 5)), 1);
    for _ in 0..3 {
        let seq = world.fetch(1).remove(0).seq;
        let until = Millis(world.wall().0 + 1_000);
        assert_eq!(world.nack(seq, Some(until)).state, State::Available);
        world.pass(1_000);
    }
    let seq = world.fetch(1).remove(0).seq;
    let until = Millis(world.wall().0 + 1_000);
    assert_eq!(world.nack(seq, Some(until)).state, State::Retryable, "now it is a failure");
}

#[test]
fn keys_per_tenant_are_bounded() {
    let config = rota_engine::Config { caps: cap_keys(3), ..Default::default() };
    let mut world = World::with(config);
    for key in ["a", "b", "c"] {
        world.enqueue(&job("t").limit(concurrency(key, 1)), 1);
    }
    let reply = world.try_enqueue(&[job("t").limit(concurrency("d", 1))], 0);
    assert!(matches!(reply, Reply::Refused(Refusal::CapReached(_))), "{reply:?}");
    world.enqueue(&job("t").limit(concurrency("a", 1)), 1);
    world.enqueue(&job("u").limit(concurrency("d", 1)), 1);
}

#[test]
fn a_shared_key_goes_around_however_jobs_are_spread_and_whoever_else_is_served() {
    let mut world = World::new();
    for most in [1_000, 1_001, 1_002] {
        let limit =
            json!({"key": "k", "concurrency": most, "rate": {"limit": 1, "period": "PT1S"}});
        world.enqueue(&job("many").limit(limit.clone()), 100);
        if most == 1_000 {
            world.enqueue(&job("one").limit(limit.clone()), 100);
            world.enqueue(&job("other").limit(limit), 100);
        }
    }
    world.enqueue(&job("free"), 1_000);
    let mut started = Vec::new();
    for _ in 0..60 {
        started.extend(world.served(8));
        world.pass(1_000);
    }
    for tenant in ["many", "one", "other"] {
        assert_eq!(count(&started, tenant), 20, "{tenant}");
    }
}

#[test]
fn the_jobs_of_a_key_stay_in_order_whatever_their_type() {
    let mut world = World::new();
    let one = |kind| job("a").kind(kind).limit(concurrency("k", 1));
    let first = world.enqueue(&one("x"), 1)[0];
    let second = world.enqueue(&one("y"), 1)[0];
    let free = world.enqueue(&job("a").kind("free"), 1)[0];
    let third = world.enqueue(&one("z"), 1)[0];
    let seqs = |world: &mut World, n| -> Vec<_> {
        world.fetch(n).into_iter().map(|claimed| claimed.seq).collect()
    };
    assert_eq!(seqs(&mut world, 2), [first, free]);
    world.ack(first);
    assert_eq!(seqs(&mut world, 2), [second]);
    world.ack(second);
    assert_eq!(seqs(&mut world, 2), [third]);
}

#[test]
fn a_job_that_returns_as_its_key_opens_does_not_overtake_an_older_one() {
    let mut world = World::new();
    let throttle = json!({"key": "k", "throttle": {"limit": 1, "period": "PT10S"}});
    let older = world.enqueue(&job("a").kind("x").limit(throttle.clone()), 1)[0];
    let younger = world.enqueue(&job("a").kind("y").limit(throttle), 1)[0];
    assert_eq!(world.fetch(1)[0].seq, older);
    world.pass(10_000);
    let lapses = |fetch: &mut rota_engine::Fetch| fetch.visibility_ms = Some(10_000);
    assert_eq!(world.fetch_with(&["default"], 1, lapses)[0].seq, younger);
    world.nack(older, None);
    world.pass(5_000);
    assert!(world.fetch(1).is_empty(), "the older waits for the key");
    world.pass(5_000);
    assert_eq!(world.fetch(1)[0].seq, older, "both wait for it now");
}

#[test]
fn a_tenant_that_is_served_elsewhere_gets_its_part_of_a_shared_key() {
    let mut world = World::new();
    let keyed = |tenant| job(tenant).limit(rate("stripe", 1, "PT1S"));
    world.enqueue(&keyed("flood"), 2_000);
    let wanted = world.enqueue(&keyed("busy"), 20);
    world.enqueue(&job("busy"), 40_000);
    let mut starts = Vec::new();
    for _ in 0..60 {
        for _ in 0..20 {
            for claimed in world.fetch(3) {
                let owner = world.owner(claimed.seq);
                if wanted.contains(&claimed.seq) || owner == "flood" {
                    starts.push(owner);
                }
                world.ack(claimed.seq);
            }
            world.pass(50);
        }
    }
    assert_eq!(count(&starts[..45], "busy"), 20, "{starts:?}");
}

#[test]
fn a_key_is_in_use_while_a_job_with_it_lives() {
    let mut world = World::with(Config { caps: cap_keys(3), ..Config::default() });
    let keys = ["k0", "k1", "k2", "k3", "k4", "k5", "k6"];
    let keyed = |key| job("a").limit(concurrency(key, 1));
    for key in keys {
        world.enqueue(&keyed(key), 2);
        for claimed in world.fetch(1) {
            world.ack(claimed.seq);
        }
        for claimed in world.fetch(1) {
            world.ack(claimed.seq);
        }
    }
    for key in &keys[..3] {
        world.enqueue(&keyed(*key), 1);
    }
    let fourth = world.try_enqueue(&[keyed("k3")], 0);
    assert!(matches!(fourth, Reply::Refused(Refusal::CapReached(_))), "{fourth:?}");
    world.crash(1_000);
    let fourth = world.try_enqueue(&[keyed("k3")], 0);
    assert!(matches!(fourth, Reply::Refused(Refusal::CapReached(_))), "{fourth:?}");
    let one = world.fetch(1).pop().unwrap();
    world.ack(one.seq);
    world.enqueue(&keyed("k3"), 1);
}

#[test]
fn a_rate_is_exact_although_the_key_has_very_many_periods() {
    let mut world = World::new();
    for n in 0..100 {
        world.enqueue(&job("others").limit(rate("k", 1_000, &format!("PT{}S", 60 + n))), 1);
    }
    assert_eq!(world.fetch(200).len(), 100);
    world.enqueue(&job("t").limit(rate("k", 3, "PT83S")), 6);
    let mut starts = Vec::new();
    for second in 1..=170 {
        world.pass(1_000);
        starts.extend(world.fetch(10).iter().map(|_| second));
    }
    assert_eq!(starts, [83, 83, 83, 166, 166, 166]);
}
