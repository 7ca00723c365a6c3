//! What queues are guaranteed of the dispatches to fetches without a pool.

use crate::world::{World, cap_queues, count, job, name, pool};
use rota_engine::{Config, Fetch, Preference};
use rota_model::{FairnessScope, QueueName, QueueStrategy, Starvation, TenantId};

const ALL: [&str; 4] = ["a", "b", "c", "d"];

fn config(min_ratio: Option<u32>) -> Config {
    let starvation = Starvation { enabled: true, rotation_ms: 86_400_000, min_ratio };
    Config { starvation, caps: cap_queues(100_000), ..Config::default() }
}

/// Jobs in queues `a` to `d`, and a tenth of all dispatches guaranteed to each.
fn four_queues(config: Config) -> World {
    let mut world = World::with(config);
    for queue in ALL {
        world.enqueue(&job("t").queue(queue), 1_500);
    }
    world
}

/// The queue of the next job for a fetch that names these.
fn next(world: &mut World, queues: &[&str]) -> String {
    world.next(queues, |_| {}).unwrap().1
}

/// Of any run of dispatches each queue got this part, less one.
fn check_every_window(got: &[String], queues: &[&str], ratio: f64) {
    for queue in queues {
        let mut before = vec![0];
        for one in got {
            before.push(before.last().unwrap() + usize::from(one == queue));
        }
        for from in 0..got.len() {
            for to in from..=got.len() {
                let due = (ratio * (to - from) as f64 + 1e-9).floor() as usize;
                let times = before[to] - before[from];
                assert!(
                    times + 1 >= due,
                    "{queue} got {times} of {from}..{to}: {:?}",
                    &got[from..to]
                );
            }
        }
    }
}

#[test]
fn every_queue_gets_its_part_of_every_window_whatever_sets_workers_name() {
    let workers: [&[&[&str]]; 5] = [
        &[&["a", "b"], &["b", "c"], &["c", "d"]],
        &[&["a"], &["a", "b"], &["a", "c"], &["a", "d"]],
        &[&ALL, &["a"], &["a"], &["b", "a"]],
        &[&["a", "b"], &["a", "b"], &["a", "b", "c"], &["d", "c", "b"]],
        &[&["a"], &["b"], &["a", "b"], &["c", "d"], &["a", "c"], &ALL],
    ];
    for scope in [FairnessScope::Queue, FairnessScope::Pool] {
        for sets in workers {
            let mut config = config(Some(100_000));
            config.fairness.scope = scope;
            let mut world = four_queues(config);
            // Sets that are named for the first time are known from then on.
            for named in sets {
                next(&mut world, named);
            }
            let got: Vec<String> =
                (0..600).map(|n| next(&mut world, sets[n % sets.len()])).collect();
            check_every_window(&got, &ALL, 0.1);
        }
    }
}

#[test]
fn strategies_hold_beside_the_guarantee() {
    let sets: [&[&str]; 3] = [&["a", "b"], &["b", "c", "d"], &["a", "d"]];
    for strategy in [QueueStrategy::RoundRobin, QueueStrategy::LeastLoaded] {
        let mut world = four_queues(config(Some(100_000)));
        let by = |fetch: &mut Fetch| {
            fetch.preference = Some(Preference { strategy, weights: Default::default() });
        };
        let got: Vec<String> = (0..600).map(|n| world.next(sets[n % 3], by).unwrap().1).collect();
        check_every_window(&got[6..], &ALL, 0.1);
    }
}

#[test]
fn an_owed_queue_gets_every_fetch_that_names_it_until_nothing_is_owed() {
    let mut world = four_queues(config(Some(100_000)));
    next(&mut world, &["a", "b"]);
    next(&mut world, &["c", "b"]);
    for _ in 0..38 {
        assert_eq!(next(&mut world, &["a"]), "a");
    }
    // All 40 dispatches count, so b and c are owed four less what they got.
    for set in [["c", "b"], ["a", "b"], ["a", "b"]] {
        assert_eq!(next(&mut world, &set), "b");
    }
    for _ in 0..3 {
        assert_eq!(next(&mut world, &["c", "b"]), "c");
    }
    let later: Vec<String> = (0..20).map(|_| next(&mut world, &["a", "b"])).collect();
    assert!(count(&later, "b") <= 4, "{later:?}");
}

#[test]
fn what_a_queue_gets_from_other_fetches_pays_what_it_is_owed() {
    let mut world = four_queues(config(Some(200_000)));
    for _ in 0..100 {
        assert_eq!(next(&mut world, &["a", "b"]), "a", "b has had more than its part");
        assert_eq!(next(&mut world, &["b"]), "b");
    }
}

#[test]
fn sets_that_have_no_queue_in_common_are_counted_by_themselves_until_a_fetch_ties_them() {
    let mut world = four_queues(config(Some(100_000)));
    let mut got = Vec::new();
    for _ in 0..100 {
        got.push(next(&mut world, &["a", "b"]));
        (0..9).for_each(|_| {
            next(&mut world, &["c", "d"]);
        });
    }
    assert!((9..=11).contains(&count(&got, "b")), "{}", count(&got, "b"));
    next(&mut world, &["b", "c"]);
    let got: Vec<String> = (0..400)
        .map(|n| next(&mut world, if n % 4 == 0 { &["a", "b"] } else { &["c", "d"] }))
        .collect();
    check_every_window(&got, &ALL, 0.1);
}

#[test]
fn a_queue_that_no_fetch_names_for_long_shuts_the_others_out_for_a_bounded_time() {
    let mut world = World::with(config(Some(500_000)));
    for queue in ["a", "b"] {
        world.enqueue(&job("t").queue(queue), 4_000);
    }
    next(&mut world, &["a", "b"]);
    (0..3_000).for_each(|_| {
        next(&mut world, &["a"]);
    });
    let made_up_for = (0..4_000).take_while(|_| next(&mut world, &["a", "b"]) == "b").count();
    assert!((995..=1_005).contains(&made_up_for), "{made_up_for}");
}

#[test]
fn while_more_queues_have_jobs_than_can_have_the_ratio_each_gets_an_equal_part() {
    let mut world = World::with(config(None));
    let names: Vec<&str> = (0..40).map(|n| name(format!("q{n}"))).collect();
    for queue in &names {
        world.enqueue(&job("t").queue(queue), 100);
    }
    let sets: Vec<Vec<&str>> = (0..40).map(|n| vec![names[n], names[(n + 1) % 40]]).collect();
    for set in &sets {
        next(&mut world, set);
    }
    let got: Vec<String> = (0..1_600).map(|n| next(&mut world, &sets[n * 7 % 40])).collect();
    for queue in &names {
        assert!((38..=42).contains(&count(&got, queue)), "{queue}: {}", count(&got, queue));
    }
}

#[test]
fn queues_that_a_tenant_invents_take_nothing_from_the_parts_of_others() {
    let mut world = four_queues(config(None));
    next(&mut world, &["a", "b"]);
    for n in 0..2_000 {
        world.enqueue(&job("noisy").queue(name(format!("n{n}"))), 1);
    }
    let invented: Vec<QueueName> =
        (0..1_000).map(|n| QueueName::parse(&format!("n{n}")).unwrap()).collect();
    for _ in 0..50 {
        let fetch = |fetch: &mut Fetch| {
            fetch.queues.clone_from(&invented);
            fetch.tenant = Some(TenantId::parse("noisy").unwrap());
        };
        world.next(&[], fetch).unwrap();
    }
    let before = world.engine.scheduler_steps();
    let got: Vec<String> = (0..200).map(|_| next(&mut world, &["a", "b"])).collect();
    assert!((9..=11).contains(&count(&got, "b")), "{}", count(&got, "b"));
    let steps = world.engine.scheduler_steps() - before;
    assert!(steps < 200 * 30, "{steps}");
}

#[test]
fn what_a_tenants_own_workers_take_does_not_count() {
    for charge in [false, true] {
        let mut config = config(Some(100_000));
        config.fairness.charge_own_workers = charge;
        let mut world = four_queues(config);
        next(&mut world, &["a", "b"]);
        let own = |fetch: &mut Fetch| fetch.tenant = Some(TenantId::parse("t").unwrap());
        for _ in 0..50 {
            assert_eq!(world.next(&["a"], own).unwrap().1, "a");
            world.next(&["a", "c"], own).unwrap();
        }
        let got: Vec<String> = (0..8).map(|_| next(&mut world, &["a", "b"])).collect();
        assert_eq!(got, ["a"; 8], "{charge}");
    }
}

#[test]
fn what_a_pool_hands_out_does_not_count_without_it() {
    let mut world = four_queues(config(Some(100_000)));
    world.put_pool("p", serde_json::json!({"queues": ["a", "b"]}));
    next(&mut world, &["a", "b"]);
    for _ in 0..50 {
        world.next(&["a"], |fetch| fetch.pool = pool("p")).unwrap();
    }
    let got: Vec<String> = (0..8).map(|_| next(&mut world, &["a", "b"])).collect();
    assert_eq!(got, ["a"; 8]);
}

#[test]
fn restarts_starve_no_queue() {
    let sets: [&[&str]; 3] = [&["a", "b"], &["a", "c"], &["a"]];
    let mut world = four_queues(config(Some(100_000)));
    let mut got = Vec::new();
    for _ in 0..40 {
        got.extend((0..6).map(|n| next(&mut world, sets[n % 3])));
        world.crash(10);
    }
    for queue in ["b", "c"] {
        assert!(count(&got, queue) >= 39, "{queue}: {}", count(&got, queue));
    }
    assert!(count(&got, "a") >= 120, "{}", count(&got, "a"));
}

#[test]
fn a_queue_that_other_fetches_serve_is_not_reported_as_starved() {
    let mut config = config(Some(0));
    config.starvation.rotation_ms = 1_000;
    let mut world = four_queues(config);
    for _ in 0..40 {
        next(&mut world, &["a", "b"]);
        assert_eq!(next(&mut world, &["b"]), "b");
        world.pass(100);
    }
    let starved =
        |kind: &rota_engine::EventKind| matches!(kind, rota_engine::EventKind::QueueStarved { .. });
    assert!(!world.has_event(starved));
}

#[test]
fn where_tenants_have_queues_of_their_own_each_is_counted_by_itself() {
    let mut world = World::with(Config { queues_per_tenant: true, ..config(Some(100_000)) });
    for queue in ["a", "b"] {
        world.enqueue(&job("x").queue(queue), 500);
    }
    for queue in ["c", "d"] {
        world.enqueue(&job("y").queue(queue), 500);
    }
    let next = |world: &mut World, tenant: &str, queues: &[&str]| {
        let own = TenantId::parse(tenant).unwrap();
        world.next(queues, |fetch| fetch.tenant = Some(own)).unwrap().1
    };
    next(&mut world, "x", &["a", "b"]);
    let mut got = Vec::new();
    for _ in 0..100 {
        got.push(next(&mut world, "x", &["a"]));
        got.push(next(&mut world, "x", &["a", "b"]));
        next(&mut world, "y", &["c"]);
        next(&mut world, "y", &["c", "d"]);
    }
    check_every_window(&got, &["a", "b"], 0.1);
    assert!(count(&got, "b") <= 21, "{}", count(&got, "b"));
}
