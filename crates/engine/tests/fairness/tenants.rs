use crate::world::{World, job};
use rota_engine::{Config, EventKind, Noisy, Refusal, Reply};
use rota_model::{State, TenantId};
use serde_json::json;

fn refused(reply: Reply) -> Refusal {
    match reply {
        Reply::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cap_holds_over_all_queues_and_everyone_else_goes_on() {
    let mut world = World::new();
    world.tenant("a", json!({"max_concurrency": 2}));
    world.enqueue(&job("a"), 5);
    world.enqueue(&job("a").queue("other"), 5);
    world.enqueue(&job("b"), 1);
    let first = world.fetch(10);
    assert_eq!(first.len(), 3);
    assert!(world.fetch_with(&["other"], 5, |_| {}).is_empty());
    let own = first.iter().find(|job| world.owner(job.seq) == "a").unwrap().seq;
    world.ack(own);
    assert_eq!(world.fetch_with(&["other"], 5, |_| {}).len(), 1);
    assert!(world.fetch(5).is_empty());
    world.tenant("a", json!({"max_concurrency": 4}));
    assert_eq!(world.fetch(5).len(), 2);
}

#[test]
fn depth_and_scheduled_are_bounded_whole_batches_only() {
    let mut world = World::new();
    world.tenant("a", json!({"max_queue_depth": 5, "max_scheduled": 2}));
    world.enqueue(&job("a"), 4);
    let two = [job("a"), job("a")];
    let refusal = refused(world.try_enqueue(&two, 0));
    assert!(
        matches!(
            refusal,
            Refusal::TenantLimit {
                limit: "max_queue_depth",
                current: 4,
                maximum: 5,
                retry_ms: Some(_),
                ..
            }
        ),
        "{refusal:?}"
    );
    assert!(world.has_event(|e| matches!(e, EventKind::TenantLimitExceeded { .. })));
    let six = vec![job("a"); 6];
    assert!(matches!(
        refused(world.try_enqueue(&six, 0)),
        Refusal::TenantLimit { retry_ms: None, .. }
    ));
    world.enqueue(&job("a"), 1);
    let claimed = world.fetch(1).remove(0);
    world.enqueue(&job("a"), 1);
    assert_eq!(
        world.nack(claimed.seq, None).state,
        State::Retryable,
        "what returns is never refused"
    );
    world.enqueue(&job("b"), 100);
    let mut world = World::new();
    world.tenant("a", json!({"max_scheduled": 2}));
    let later = crate::world::Job { start_in: Some(60_000), ..job("a") };
    world.enqueue(&later, 2);
    assert!(matches!(
        refused(world.try_enqueue(&[later], 0)),
        Refusal::TenantLimit { limit: "max_scheduled", .. }
    ));
    world.enqueue(&job("a"), 10);
}

#[test]
fn there_is_room_for_scheduled_jobs_when_others_are_due() {
    let mut world = World::new();
    world.tenant("a", json!({"max_scheduled": 3}));
    let later = |tenant, ms| crate::world::Job { start_in: Some(ms), ..job(tenant) };
    for job in [later("a", 90_000), later("b", 5_000), later("a", 30_000), later("a", 7_000_000)] {
        world.enqueue(&job, 1);
    }
    let wait = |world: &mut World, jobs: usize| {
        let jobs = vec![later("a", 60_000); jobs];
        match refused(world.try_enqueue(&jobs, 0)) {
            Refusal::TenantLimit { limit: "max_scheduled", retry_ms, .. } => retry_ms,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(wait(&mut world, 1), Some(30_000));
    assert_eq!(wait(&mut world, 2), Some(90_000));
    assert_eq!(wait(&mut world, 3), Some(7_000_000));
    assert_eq!(wait(&mut world, 4), None, "so many never fit");
    world.pass(10_000);
    assert_eq!(wait(&mut world, 1), Some(20_000));
    world.pass(20_000);
    world.enqueue(&later("a", 60_000), 1);
}

#[test]
fn the_enqueue_rate_is_never_exceeded_in_any_window() {
    let mut world = World::new();
    world.tenant("a", json!({"max_enqueue_rate": {"limit": 10, "period": "PT1S"}}));
    let mut times = Vec::new();
    for _ in 0..500 {
        world.pass(17);
        match world.try_enqueue(&[job("a"), job("a")], 0) {
            Reply::Enqueued(_) => times.extend([world.mono; 2]),
            Reply::Refused(Refusal::TenantLimit {
                limit: "max_enqueue_rate",
                retry_ms: Some(ms),
                ..
            }) => {
                assert!(ms <= 1_000);
            }
            other => panic!("{other:?}"),
        }
    }
    for (i, at) in times.iter().enumerate() {
        assert!(times[..=i].iter().filter(|t| **t + 1_000 > *at).count() <= 10);
    }
    assert!(times.len() as u64 * 100 >= world.mono * 99 / 100);
}

#[test]
fn a_soft_quota_admits_and_says_so() {
    let mut world = World::new();
    world.tenant("a", json!({"max_queue_depth": 1, "quota": "soft"}));
    world.enqueue(&job("a"), 1);
    match world.try_enqueue(&[job("a")], 0) {
        Reply::Enqueued(admission) => assert_eq!(admission.over_quota, ["max_queue_depth"]),
        other => panic!("{other:?}"),
    }
    assert!(world.has_event(|e| matches!(e, EventKind::TenantLimitExceeded { soft: true, .. })));
}

#[test]
fn a_tenants_part_of_a_queue_can_be_paused() {
    let mut world = World::new();
    world.enqueue(&job("a"), 3);
    world.enqueue(&job("b"), 3);
    let (tenant, queue) = (TenantId::parse("a").unwrap(), rota_model::QueueName::default_queue());
    world.apply(rota_engine::Command::PauseShard(tenant.clone(), queue.clone()));
    assert_eq!(world.served(6), ["b"; 3]);
    world.crash(10);
    assert!(world.fetch(6).is_empty());
    world.apply(rota_engine::Command::ResumeShard(tenant, queue));
    assert_eq!(world.served(6), ["a"; 3]);
}

#[test]
fn a_noisy_tenant_is_noticed_throttled_and_let_go() {
    let noisy = Noisy { throttle: true, throttle_ms: 60_000, ..Noisy::default() };
    let mut world = World::with(Config { noisy, ..Config::default() });
    for tenant in ["a", "b", "c", "d"] {
        world.enqueue(&job(tenant), 20);
    }
    world.enqueue(&job("loud"), 2_000);
    world.pass(6_000);
    assert!(world.has_event(|e| matches!(e, EventKind::TenantThrottled { throttle: t, .. } if t.reason == "queue_depth_ratio_exceeded")));
    let view = world.engine.tenant("loud").unwrap();
    assert!(view.effective_weight < view.weight);
    let loud = crate::world::count(&world.served(42), "loud");
    assert!(loud <= 4, "{loud}");
    world.pass(61_000);
    assert!(world.has_event(|e| matches!(e, EventKind::TenantThrottleReleased { .. })));
    let view = world.engine.tenant("loud").unwrap();
    assert_eq!(view.effective_weight, view.weight);
}

#[test]
fn a_throttle_goes_with_its_tenant_and_another_lasts_its_whole_time() {
    let noisy = Noisy { throttle: true, throttle_ms: 60_000, ..Noisy::default() };
    let mut world = World::with(Config { noisy, ..Config::default() });
    let loud = TenantId::parse("loud").unwrap();
    world.enqueue(&job("quiet"), 5);
    world.enqueue(&job("loud"), 200);
    world.pass(6_000);
    let first = world.engine.tenant("loud").unwrap().throttle.unwrap();
    world.served(205);
    let reply = world.apply(rota_engine::Command::DeleteTenant(loud.clone(), None));
    assert!(matches!(reply, Reply::Tenant { .. }), "{reply:?}");
    assert_eq!(world.engine.tenant("loud").unwrap().throttle, None);
    world.pass(30_000);
    world.enqueue(&job("quiet"), 5);
    world.enqueue(&job("loud"), 500);
    world.pass(6_000);
    let second = world.engine.tenant("loud").unwrap().throttle.unwrap();
    assert!(second.until > first.until);
    world.pass(first.until.since(world.wall()) as u64 + 1);
    assert_eq!(world.engine.tenant("loud").unwrap().throttle, Some(second));
    world.pass(60_000);
    assert_eq!(world.engine.tenant("loud").unwrap().throttle, None);
}

#[test]
fn a_soft_quota_is_crossed_when_jobs_come_in_and_not_while_they_wait() {
    use rota_engine::{Backpressure, Bounds, Command, QueueSettings};
    let mut world = World::new();
    let bounds = Bounds {
        max_depth: 2,
        max_bytes: 0,
        tenant_max_depth: 0,
        tenant_max_bytes: 0,
        strategy: Backpressure::Block,
        warn_at: 800,
    };
    let settings = QueueSettings { bounds: Some(bounds), ..QueueSettings::default() };
    world.apply(Command::ConfigureQueue(rota_model::QueueName::default_queue(), settings));
    world.tenant("a", json!({"max_queue_depth": 1, "quota": "soft"}));
    world.enqueue(&job("a"), 1);
    world.enqueue(&job("b"), 1);
    let crossed = |world: &World| {
        let events = world.events.iter();
        events.filter(|e| matches!(e, EventKind::TenantLimitExceeded { .. })).count()
    };
    assert!(matches!(world.try_enqueue(&[job("a")], 60_000), Reply::Waiting));
    assert_eq!(crossed(&world), 0);
    world.fetch_with(&["default"], 1, |f| f.tenant = TenantId::parse("b").ok());
    assert!(
        matches!(&world.woken[..], [(_, Reply::Enqueued(a))] if a.over_quota == ["max_queue_depth"])
    );
    assert_eq!(crossed(&world), 1);
}

#[test]
fn a_throttle_that_begins_as_another_ends_lasts_its_whole_time() {
    let noisy = Noisy { throttle: true, throttle_ms: 60_000, ..Noisy::default() };
    let mut world = World::with(Config { noisy, ..Config::default() });
    world.enqueue(&job("quiet"), 5);
    world.enqueue(&job("loud"), 200);
    world.pass(6_000);
    let first = world.engine.tenant("loud").unwrap().throttle.unwrap();
    assert_eq!(first.reason, "queue_depth_ratio_exceeded");
    world.fetch(100);
    world.pass(60_000);
    let second = world.engine.tenant("loud").unwrap().throttle.unwrap();
    assert_eq!(second.reason, "active_job_ratio_exceeded");
    assert_eq!(second.until.since(world.wall()), 60_000);
    world.pass(59_999);
    assert_eq!(world.engine.tenant("loud").unwrap().throttle, Some(second));
    world.pass(1);
    assert_eq!(world.engine.tenant("loud").unwrap().throttle, None);
}

fn throttling() -> World {
    let noisy = Noisy { throttle: true, throttle_ms: 60_000, ..Noisy::default() };
    World::with(Config { noisy, ..Config::default() })
}

fn loud(world: &World) -> rota_engine::TenantView {
    world.engine.tenant("loud").unwrap()
}

#[test]
fn a_throttle_follows_the_weight_that_it_lowers() {
    let mut world = throttling();
    world.tenant("loud", json!({"fairness_weight": 10}));
    world.enqueue(&job("quiet"), 5);
    world.enqueue(&job("loud"), 200);
    world.pass(6_000);
    assert_eq!(loud(&world).effective_weight.value(), 2.0);
    for (weight, left) in [(1.0, 0.2), (0.02, 0.01), (0.01, 0.01), (50.0, 10.0)] {
        world.tenant("loud", json!({"fairness_weight": weight}));
        let view = loud(&world);
        assert_eq!((view.weight.value(), view.effective_weight.value()), (weight, left));
        let throttle = view.throttle.unwrap();
        assert_eq!((throttle.original.value(), throttle.effective.value()), (weight, left));
    }
    world.crash(10);
    assert_eq!(loud(&world).effective_weight.value(), 10.0);
}

#[test]
fn who_was_released_by_hand_is_not_throttled_again_at_once() {
    let mut world = throttling();
    let release = |world: &mut World| {
        let id = TenantId::parse("loud").unwrap();
        let reply = world.apply(rota_engine::Command::ReleaseTenant(id, None));
        assert!(matches!(reply, Reply::Tenant { .. }), "{reply:?}");
        world.events.clear();
    };
    world.enqueue(&job("quiet"), 5);
    world.enqueue(&job("loud"), 200);
    world.pass(6_000);
    release(&mut world);
    for step in 0..11 {
        if step == 5 {
            world.crash(0);
            world.enqueue(&job("quiet"), 1);
        }
        world.enqueue(&job("loud"), 1);
        world.pass(5_000);
        assert_eq!(loud(&world).throttle, None, "step {step}");
    }
    let noticed = |e: &EventKind| matches!(e, EventKind::TenantNoisy { .. });
    assert!(world.has_event(noticed), "that it goes on is told");
    world.enqueue(&job("loud"), 1);
    world.pass(5_000);
    assert!(loud(&world).throttle.is_some(), "a whole throttle's time has passed");
}

#[test]
fn a_noisy_tenant_is_shown_for_as_long_as_it_is() {
    let mut world = World::new();
    world.enqueue(&job("quiet"), 5);
    world.enqueue(&job("loud"), 200);
    world.pass(6_000);
    let seen = world.wall();
    let noisy = loud(&world).noisy.unwrap();
    assert_eq!((noisy.signal, noisy.value, noisy.since), ("queue_depth_ratio", 200.0, seen));
    assert!(noisy.threshold < 200.0 && loud(&world).throttle.is_none());
    assert_eq!(world.engine.tenant("quiet").unwrap().noisy, None);
    world.enqueue(&job("loud"), 50);
    world.pass(6_000);
    let noisy = loud(&world).noisy.unwrap();
    assert_eq!((noisy.value, noisy.since), (250.0, seen));
    world.served(240);
    assert_eq!(loud(&world).noisy, None);
    world.pass(6_000);
    assert_eq!(loud(&world).noisy, None);
}

#[test]
fn that_jobs_wait_at_the_cap_is_told_once() {
    let mut world = World::new();
    let told = |world: &mut World| {
        let events = std::mem::take(&mut world.events).into_iter();
        let of_cap = events.filter_map(|e| match e {
            EventKind::TenantLimitExceeded {
                limit: "max_concurrency",
                current,
                maximum,
                soft,
                ..
            } => Some((current, maximum, soft)),
            _ => None,
        });
        of_cap.collect::<Vec<_>>()
    };
    world.tenant("a", json!({"max_concurrency": 2}));
    world.enqueue(&job("a"), 2);
    let running = world.fetch(10);
    assert_eq!(told(&mut world), [], "nothing waits");
    world.enqueue(&job("a"), 6);
    world.enqueue(&job("a").queue("other"), 1);
    assert_eq!(told(&mut world), [(2, 2, false)]);
    running.iter().for_each(|job| world.ack(job.seq));
    assert_eq!(world.served(3).len(), 3);
    world.tenant("a", json!({"max_concurrency": 2, "fairness_weight": 3}));
    world.fetch(2);
    assert_eq!(told(&mut world), [], "they have waited all the while");
    world.tenant("a", json!({"max_concurrency": 1}));
    assert_eq!(told(&mut world), [(2, 1, false)]);
    world.tenant("a", json!({}));
    world.fetch_with(&["default", "other"], 10, |_| {});
    world.tenant("a", json!({"max_concurrency": 1}));
    assert_eq!(told(&mut world), []);
    world.enqueue(&job("a"), 1);
    assert_eq!(told(&mut world).len(), 1);
    world.pass(1_000);
    world.enqueue(&job("b"), 1);
    assert_eq!(told(&mut world), []);
}
