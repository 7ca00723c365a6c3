//! Who is noisy, and that a throttle has an effect wherever one is announced.

use rota_engine::{Command, Config, EventKind, FairStrategy, Fairness, Noisy};

use crate::world::{World, job};

fn noisy(noisy: Noisy, fairness: Fairness) -> World {
    World::with(Config { noisy, fairness, ..Config::default() })
}

/// Tenants with this many jobs waiting, and a look at them.
fn wait(world: &mut World, depths: &[(&'static str, usize)]) {
    depths.iter().for_each(|(tenant, depth)| drop(world.enqueue(&job(tenant), *depth)));
    world.pass(5_000);
}

fn threshold(world: &World) -> Option<f64> {
    world.engine.tenant("loud").unwrap().noisy.map(|noisy| noisy.threshold)
}

fn throttled(event: &EventKind) -> bool {
    matches!(event, EventKind::TenantThrottled { .. })
}

#[test]
fn the_depth_is_compared_with_the_true_median() {
    let mut world = noisy(Noisy::default(), Fairness::default());
    wait(&mut world, &[("a", 15), ("b", 15), ("c", 15), ("d", 15), ("loud", 150)]);
    assert_eq!(threshold(&world), None, "ten times the median is not more than that");
    wait(&mut world, &[("loud", 1)]);
    assert_eq!(threshold(&world), Some(150.0));
    // Of six, the mean of the two in the middle.
    wait(&mut world, &[("e", 40), ("a", 6), ("loud", 60)]);
    assert_eq!(threshold(&world), Some(180.0));
    // Whoever waits counts after a restart as before, without having done anything since.
    world.crash(10);
    wait(&mut world, &[("loud", 1)]);
    assert_eq!(threshold(&world), Some(180.0));
}

#[test]
fn jobs_that_are_gone_do_not_count_for_the_median() {
    let mut world = noisy(Noisy::default(), Fairness::default());
    let [a, b] = ["a", "b"].map(|tenant| world.enqueue(&job(tenant), 20));
    wait(&mut world, &[("loud", 190)]);
    assert_eq!(threshold(&world), None);
    for seqs in [a, b] {
        let targets = seqs[..18].iter().map(|seq| world.target(*seq)).collect();
        world.apply(Command::Cancel(targets));
    }
    wait(&mut world, &[("loud", 1)]);
    assert_eq!(threshold(&world), Some(20.0));
}

#[test]
fn below_the_floor_nobody_is_noisy() {
    for (min_depth, found) in [(30, true), (31, false)] {
        let rules = Noisy { min_depth, ..Noisy::default() };
        let mut world = noisy(rules, Fairness::default());
        wait(&mut world, &[("a", 1), ("b", 1), ("loud", 30)]);
        assert_eq!(threshold(&world).is_some(), found, "{min_depth}");
    }
}

#[test]
fn where_each_tenant_has_its_own_concurrency_a_throttle_lowers_that() {
    let fairness = Fairness { strategy: FairStrategy::Strict, ..Fairness::default() };
    let rules = Noisy { throttle: true, throttle_ms: 60_000, ..Noisy::default() };
    let mut world = noisy(rules, fairness);
    wait(&mut world, &[("a", 1), ("b", 1), ("loud", 200)]);
    assert!(world.has_event(throttled));
    let view = world.engine.tenant("loud").unwrap();
    assert_eq!((view.throttle.unwrap().concurrency, view.cap), (Some((10, 2)), Some(2)));
    let started: Vec<_> = world.fetch(50).iter().map(|job| world.owner(job.seq)).collect();
    assert_eq!(crate::world::count(&started, "loud"), 2);
    world.crash(10);
    assert!(world.fetch(50).is_empty());
    world.pass(60_000);
    assert_eq!(world.fetch(50).len(), 8, "it is over");
}

#[test]
fn a_tenant_that_is_alone_is_not_noisy() {
    let mut world = noisy(Noisy { throttle: true, ..Noisy::default() }, Fairness::default());
    wait(&mut world, &[("loud", 900)]);
    assert!(!world.has_event(throttled) && threshold(&world).is_none());
}

#[test]
fn where_there_is_nothing_to_lower_no_throttle_is_announced() {
    let fairness = Fairness { enabled: false, ..Fairness::default() };
    let mut world = noisy(Noisy { throttle: true, ..Noisy::default() }, fairness);
    wait(&mut world, &[("a", 1), ("b", 1), ("loud", 200)]);
    assert!(!world.has_event(throttled) && threshold(&world).is_some());
    assert!(world.has_event(|event| matches!(event, EventKind::TenantNoisy { .. })));
    assert_eq!(world.engine.tenant("loud").unwrap().throttle, None);
}

#[test]
fn a_tenant_that_stays_noisy_is_throttled_again_although_nothing_happens() {
    let rules = Noisy { throttle: true, throttle_ms: 60_000, ..Noisy::default() };
    let mut world = noisy(rules, Fairness::default());
    wait(&mut world, &[("a", 1), ("b", 1), ("loud", 200)]);
    for _ in 0..3 {
        assert!(world.engine.tenant("loud").unwrap().throttle.is_some());
        assert_eq!(world.events.iter().filter(|event| throttled(event)).count(), 1);
        world.events.clear();
        world.pass(60_000);
        world.pass(5_000);
    }
}

#[test]
fn a_tenant_that_falls_silent_and_floods_again_is_noisy_again() {
    let mut world = noisy(Noisy::default(), Fairness::default());
    let told = |world: &World| {
        let noisy = |event: &&EventKind| matches!(event, EventKind::TenantNoisy { .. });
        world.events.iter().filter(noisy).count()
    };
    let flood = |world: &mut World| {
        let names = [("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1), ("f", 1), ("loud", 150)];
        for (tenant, jobs) in names {
            let sent = world.enqueue(&job(tenant), jobs);
            let targets = sent.iter().map(|seq| world.target(*seq)).collect();
            world.apply(Command::Cancel(targets));
        }
        world.pass(5_000);
    };
    flood(&mut world);
    assert_eq!(told(&world), 1);
    assert!(world.engine.tenant("loud").unwrap().noisy.is_some());
    // A minute in which nobody does anything: it enqueues nothing, so it is not noisy.
    (0..15).for_each(|_| world.pass(5_000));
    assert!(world.engine.tenant("loud").unwrap().noisy.is_none());
    flood(&mut world);
    assert_eq!(told(&world), 2);
}

fn signal(world: &World) -> Option<(&'static str, f64, f64)> {
    let noisy = world.engine.tenant("loud").unwrap().noisy?;
    Some((noisy.signal, noisy.value, noisy.threshold))
}

/// Neither the backlog nor the active jobs make anybody noisy.
fn by_rate() -> Noisy {
    Noisy { depth_ratio: 1e6, active_share: 1.0, ..Noisy::default() }
}

#[test]
fn the_average_rate_is_of_all_that_enqueued_in_the_last_minute() {
    for (others, own, expected) in [(9, 295, 282.5), (7, 400, 381.25), (9, 330, 300.0)] {
        let mut world = noisy(by_rate(), Fairness::default());
        for n in 0..others {
            world.enqueue(&job(crate::world::name(format!("o{n}"))), 30);
            // The first look comes at once, and knows of the first tenant only.
            world.pass(0);
        }
        wait(&mut world, &[("loud", own)]);
        let found = Some(("enqueue_rate_ratio", own as f64, expected));
        assert_eq!(signal(&world), found);
        // It stays so while nobody does anything, and after a restart.
        world.pass(20_000);
        assert_eq!(signal(&world), found);
        world.crash(10);
        world.pass(5_000);
        assert_eq!(signal(&world), found);
    }
}

#[test]
fn the_average_after_a_restart_has_tenants_that_have_no_jobs_left() {
    let mut world = noisy(by_rate(), Fairness::default());
    for tenant in ["a", "b", "c", "d", "e", "f", "g"] {
        let sent = world.enqueue(&job(tenant), 30);
        let targets = sent.iter().map(|seq| world.target(*seq)).collect();
        world.apply(Command::Cancel(targets));
    }
    world.enqueue(&job("loud"), 400);
    world.crash(10);
    world.pass(5_000);
    assert_eq!(signal(&world), Some(("enqueue_rate_ratio", 400.0, 381.25)));
}

#[test]
fn a_large_part_of_the_active_jobs_is_noticed_after_any_silence() {
    let rules = Noisy { depth_ratio: 1e6, min_enqueued: 1_000_000, ..Noisy::default() };
    for silence_s in [0, 3, 8, 12, 60, 600] {
        let mut world = noisy(rules, Fairness::default());
        for tenant in ["a", "b", "loud"] {
            world.enqueue(&job(tenant).queue(tenant), 60);
        }
        world.pass(0);
        world.pass(silence_s * 1_000);
        world.fetch_with(&["loud"], 12, |_| {});
        world.pass(5_000);
        let found = signal(&world);
        assert_eq!(found, Some(("active_job_ratio", 12.0, 6.0)), "{silence_s} s");
    }
}

#[test]
fn the_part_of_the_active_jobs_grows_as_those_of_others_end() {
    let rules = Noisy { depth_ratio: 1e6, min_enqueued: 1_000_000, ..Noisy::default() };
    let config = Config { noisy: rules, visibility_ms: 3_600_000, ..Config::default() };
    let mut world = World::with(config);
    let [others, _] = [("a", 20), ("loud", 12)].map(|(tenant, count)| {
        world.enqueue(&job(tenant).queue(tenant), count);
        world.fetch_with(&[tenant], count, |_| {})
    });
    // What the tenant did itself is more than a minute ago.
    (0..15).for_each(|_| world.pass(5_000));
    assert_eq!(signal(&world), None);
    others[..10].iter().for_each(|job| world.ack(job.seq));
    world.pass(5_000);
    assert_eq!(signal(&world), Some(("active_job_ratio", 12.0, 11.0)));
}

#[test]
fn a_tenant_that_fails_often_stays_noisy_when_it_alone_does_something() {
    let rules = Noisy { depth_ratio: 1e6, min_enqueued: 1_000_000, ..Noisy::default() };
    let mut world = noisy(rules, Fairness::default());
    let tenants = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "loud"];
    for tenant in tenants {
        world.enqueue(&job(tenant).queue(tenant), if tenant == "loud" { 60 } else { 30 });
        let failures = if tenant == "loud" { 15 } else { 3 };
        for (n, job) in world.fetch_with(&[tenant], 30, |_| {}).into_iter().enumerate() {
            if n < failures {
                world.nack(job.seq, None);
            } else {
                world.ack(job.seq);
            }
        }
    }
    let by_errors = |world: &World| {
        let (name, value, threshold) = signal(world).expect("it is noisy");
        assert_eq!((name, value), ("error_rate", 0.5));
        assert!((threshold - 0.42).abs() < 1e-9, "{threshold}");
    };
    world.pass(5_000);
    by_errors(&world);
    world.pass(5_000);
    assert_eq!(world.fetch_with(&["loud"], 12, |_| {}).len(), 12);
    world.pass(5_000);
    assert_eq!(signal(&world), Some(("active_job_ratio", 12.0, 6.0)));
}

#[test]
fn a_throttle_that_lowers_nothing_is_not_announced() {
    let strict = Fairness { strategy: FairStrategy::Strict, ..Fairness::default() };
    let rules = Noisy { throttle: true, ..Noisy::default() };
    for (fairness, least) in [
        (strict, serde_json::json!({"max_concurrency": 1})),
        (Fairness::default(), serde_json::json!({"fairness_weight": 0.01})),
    ] {
        let mut world = noisy(rules, fairness);
        world.tenant("loud", least);
        wait(&mut world, &[("a", 1), ("b", 1), ("loud", 200)]);
        assert!(!world.has_event(throttled));
        assert!(world.has_event(|event| matches!(event, EventKind::TenantNoisy { .. })));
    }
}
