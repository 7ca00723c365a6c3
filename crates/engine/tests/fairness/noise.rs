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
