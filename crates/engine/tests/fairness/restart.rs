use crate::world::{World, concurrency, count, job, rate};
use rota_model::{LimitKey, Millis};
use serde_json::json;

#[test]
fn a_rate_that_held_before_a_crash_holds_after_it() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(rate("k", 5, "PT1M")), 50);
    let mut starts: Vec<i64> = Vec::new();
    for step in 0..400u64 {
        world.pass(500);
        for claimed in world.fetch(3) {
            starts.push(world.wall().0);
            world.ack(claimed.seq);
        }
        if step % 23 == 0 {
            world.crash(step * 7 % 900);
        }
    }
    for (i, at) in starts.iter().enumerate() {
        let within = starts[..=i].iter().filter(|s| **s + 60_000 > *at).count();
        assert!(within <= 5, "{within} starts in the minute before {at}");
    }
    assert!(starts.len() >= 15, "{}", starts.len());
}

#[test]
fn shares_are_parts_of_the_same_whole_after_a_crash() {
    let mut world = World::new();
    for tenant in ["a", "b", "c", "d"] {
        world.enqueue(&job(tenant), 30);
    }
    world.served(60);
    world.crash(10);
    world.served(20);
    for tenant in ["a", "b", "c", "d"] {
        let (share, view) =
            (world.engine.share(tenant).unwrap(), world.engine.tenant(tenant).unwrap());
        assert_eq!((share.dispatched, share.actual, view.actual), (20, 0.25, 0.25));
    }
    assert_eq!(world.engine.dispatched_1m(), 80);
}

#[test]
fn slots_pauses_and_words_come_back() {
    let mut world = World::new();
    world.enqueue(&job("a").limit(concurrency("k", 3)), 10);
    let first = world.fetch(2);
    world.say("k", json!({"concurrency": 4}), Some(100_000));
    world.crash(10);
    assert_eq!(world.fetch(10).len(), 2);
    world.ack(first[0].seq);
    assert_eq!(world.fetch(10).len(), 1);
    let one = world.engine.limit(&LimitKey::parse("k").unwrap(), None).unwrap();
    assert_eq!((one.active, one.waiting), (4, 5));
    let until = Millis(world.wall().0 + 20_000);
    world.nack(first[1].seq, Some(until));
    world.crash(10_000);
    assert!(world.fetch(10).is_empty());
    world.pass(10_000);
    assert_eq!(world.fetch(10).len(), 1);
}

#[test]
fn turns_go_on_where_they_were() {
    let mut world = World::new();
    world.tenant("a", json!({"fairness_weight": 3}));
    for tenant in ["a", "b", "c"] {
        world.enqueue(&job(tenant), 100);
    }
    let mut served = Vec::new();
    for _ in 0..20 {
        served.extend(world.served(7));
        world.crash(3);
    }
    assert!((82..=86).contains(&count(&served, "a")), "{}", count(&served, "a"));
    let (b, c) = (count(&served, "b"), count(&served, "c"));
    assert!(b.abs_diff(c) <= 2, "{b} {c}");
}

#[test]
fn a_tenants_figures_survive() {
    let mut world = World::new();
    world.tenant("a", json!({"max_enqueue_rate": {"limit": 10, "period": "PT1H"}}));
    world.enqueue(&job("a"), 8);
    world.served(5);
    world.crash(100);
    let view = world.engine.tenant("a").unwrap();
    assert_eq!((view.day.enqueued, view.day.completed), (8, 5));
    assert_eq!(view.config.max_enqueue_rate.unwrap().limit, 10);
    assert!(matches!(
        world.try_enqueue(&[job("a"), job("a"), job("a")], 0),
        rota_engine::Reply::Refused(_)
    ));
    world.enqueue(&job("a"), 2);
}
