//! How queues take turns, and what each of them is guaranteed.

use crate::world::{World, job, name, pool};
use rota_engine::{Command, Config, Fetch, Preference, Refusal, Reply};
use rota_model::mutation::RowKind;
use rota_model::{FairnessScope, PoolName, QueueName, QueueStrategy, Starvation};
use serde_json::{Value, json};

const ALL: [&str; 3] = ["a", "b", "c"];

fn three_queues(world: &mut World, jobs: usize) {
    for queue in ALL {
        world.enqueue(&job("t").queue(queue), jobs);
    }
}

fn strict(rule: Value) -> Value {
    json!({"queues": ALL, "strategy": "strict", "starvation_prevention": rule})
}

/// The queues of the next jobs.
fn served(world: &mut World, times: usize, change: impl Fn(&mut Fetch)) -> Vec<String> {
    (0..times).map(|_| world.next(&[], &change).unwrap().1).collect()
}

#[test]
fn round_robin_over_a_pool_goes_on_after_a_restart_where_it_was() {
    for scope in ["queue", "pool"] {
        let mut world = World::new();
        three_queues(&mut world, 20);
        let config = json!({"queues": ALL, "strategy": "round-robin", "fairness_scope": scope});
        world.put_pool("p", config);
        let of_pool = |fetch: &mut Fetch| fetch.pool = pool("p");
        assert_eq!(served(&mut world, 2, of_pool), ["a", "b"]);
        world.crash(10);
        assert_eq!(served(&mut world, 4, of_pool), ["c", "a", "b", "c"], "{scope}");
        world.crash(10);
        assert_eq!(served(&mut world, 3, of_pool), ["a", "b", "c"], "{scope}");
    }
}

#[test]
fn restarts_starve_no_queue_that_is_guaranteed_a_part() {
    for scope in ["queue", "pool"] {
        let mut world = World::new();
        three_queues(&mut world, 40);
        let mut config = strict(json!({"enabled": true, "min_dispatch_ratio": 0.2}));
        config["fairness_scope"] = json!(scope);
        world.put_pool("p", config);
        for n in 0..10 {
            let queues = served(&mut world, 3, |fetch| fetch.pool = pool("p"));
            assert!(n == 0 || ALL.iter().all(|queue| queues.iter().any(|q| q == queue)), "{scope}");
            world.crash(10);
        }
    }
}

#[test]
fn weights_alone_mean_weighted() {
    let mut world = World::new();
    three_queues(&mut world, 100);
    world.put_pool("p", json!({"queues": ALL, "weights": {"a": 8}}));
    let queues = served(&mut world, 50, |fetch| fetch.pool = pool("p"));
    assert_eq!(ALL.map(|queue| queues.iter().filter(|q| *q == queue).count()), [40, 5, 5]);
}

#[test]
fn without_fairness_the_scope_changes_nothing() {
    let mut config = Config::default();
    (config.fairness.enabled, config.fairness.scope) = (false, FairnessScope::Pool);
    let mut world = World::with(config);
    three_queues(&mut world, 5);
    world.put_pool("p", json!({"queues": ["c", "b", "a"], "strategy": "strict"}));
    let queues = served(&mut world, 6, |fetch| fetch.pool = pool("p"));
    assert_eq!(queues, ["c", "c", "c", "c", "c", "b"]);
}

#[test]
fn round_robin_without_a_pool_goes_on_after_a_restart_where_it_was() {
    let mut world = World::new();
    three_queues(&mut world, 20);
    let by_turns = |fetch: &mut Fetch| {
        fetch.queues = ALL.iter().map(|name| QueueName::parse(name).unwrap()).collect();
        let strategy = QueueStrategy::RoundRobin;
        fetch.preference = Some(Preference { strategy, weights: Default::default() });
    };
    assert_eq!(served(&mut world, 2, by_turns), ["a", "b"]);
    world.crash(10);
    assert_eq!(served(&mut world, 4, by_turns), ["c", "a", "b", "c"]);
    world.crash(10);
    assert_eq!(served(&mut world, 3, by_turns), ["a", "b", "c"]);
}

#[test]
fn turns_go_on_after_restarts_however_much_of_the_journal_is_left() {
    let mut world = World::with(Config { journal_entries: 5, ..Config::default() });
    three_queues(&mut world, 60);
    world.put_pool("p", json!({"queues": ALL, "strategy": "round-robin"}));
    let of_pool = |fetch: &mut Fetch| fetch.pool = pool("p");
    let mut got = Vec::new();
    for n in [1, 2, 7, 20, 1, 1, 13, 40, 5] {
        got.extend(served(&mut world, n, of_pool));
        world.crash(10);
    }
    for (n, queue) in got.iter().enumerate() {
        assert_eq!(queue, ALL[n % 3], "{n}: {got:?}");
    }
}

#[test]
fn a_pool_that_is_made_again_begins_anew_also_after_a_restart() {
    let mut world = World::new();
    three_queues(&mut world, 60);
    let by_turns = json!({"queues": ALL, "strategy": "round-robin"});
    world.put_pool("p", by_turns.clone());
    let of_pool = |fetch: &mut Fetch| fetch.pool = pool("p");
    served(&mut world, 31, of_pool);
    world.apply(Command::RemovePool(pool("p").unwrap()));
    world.put_pool("p", by_turns);
    assert_eq!(served(&mut world, 2, of_pool), ["a", "b"]);
    world.crash(10);
    assert_eq!(served(&mut world, 4, of_pool), ["c", "a", "b", "c"]);
}

#[test]
fn a_raised_weight_counts_after_a_restart() {
    let mut world = World::new();
    three_queues(&mut world, 30);
    let weighted = |a: u32| {
        let weights = json!({"a": a, "b": 1_000, "c": 1_000});
        json!({"queues": ALL, "strategy": "weighted", "weights": weights})
    };
    world.put_pool("p", weighted(1));
    let of_pool = |fetch: &mut Fetch| fetch.pool = pool("p");
    assert!(served(&mut world, 10, of_pool).iter().any(|queue| queue == "a"));
    world.put_pool("p", weighted(1_000));
    served(&mut world, 1, of_pool);
    world.crash(10);
    let after = served(&mut world, 4, of_pool);
    assert!(after.iter().any(|queue| queue == "a"), "{after:?}");
}

#[test]
fn a_queue_whose_weight_is_raised_is_served_soon() {
    let mut world = World::new();
    three_queues(&mut world, 1_300);
    let weighted = |a: u32| {
        let weights = json!({"a": a, "b": 1_000, "c": 1_000});
        json!({"queues": ALL, "strategy": "weighted", "weights": weights})
    };
    world.put_pool("p", weighted(1));
    let of_pool = |fetch: &mut Fetch| fetch.pool = pool("p");
    let before = served(&mut world, 2_200, of_pool);
    assert!(before.iter().filter(|queue| *queue == "a").count() <= 2);
    assert!(before.iter().any(|queue| queue == "a"), "it has been charged by its weight of 1");
    world.put_pool("p", weighted(1_000));
    let after = served(&mut world, 9, of_pool);
    assert!(after[..4].iter().any(|queue| queue == "a"), "{after:?}");
    assert!(after.iter().filter(|queue| *queue == "a").count() >= 2, "{after:?}");
}

/// What a pool's queues get when its fetches name these in turn, none meaning all of them.
fn get_their_parts(named: &[&[&str]]) -> Vec<String> {
    let mut world = World::new();
    three_queues(&mut world, 400);
    let rule = json!({"enabled": true, "min_dispatch_ratio": 0.1});
    world.put_pool("p", strict(rule));
    let next = |n: usize| {
        let queues = named[n % named.len()];
        world.next(queues, |fetch| fetch.pool = pool("p")).unwrap().1
    };
    let got: Vec<String> = (0..400).map(next).collect();
    for length in [20, 50, 100, 200] {
        for (at, window) in got.windows(length).enumerate() {
            for queue in ALL {
                let times = window.iter().filter(|one| *one == queue).count();
                assert!(times + 1 >= length / 10, "{queue}: {times} of {length} from {at}");
            }
        }
    }
    got
}

#[test]
fn every_queue_gets_its_part_although_fetches_name_only_some_of_them() {
    let some: [&[&[&str]]; 3] =
        [&[&["a"], &[]], &[&["a", "b"], &["a", "c"]], &[&["a", "b"], &[], &["a"], &["a", "c"]]];
    for named in some {
        let got = get_their_parts(named);
        let first = got.iter().filter(|one| *one == "a").count();
        assert!(first >= 310, "{named:?}: others got more than they were owed, it {first}");
    }
}

#[test]
fn a_queue_that_is_owed_jobs_gets_every_fetch_that_can_take_them() {
    let mut world = World::new();
    three_queues(&mut world, 100);
    let rule = json!({"enabled": true, "min_dispatch_ratio": 0.1});
    world.put_pool("p", strict(rule));
    let of_pool = |fetch: &mut Fetch| fetch.pool = pool("p");
    served(&mut world, 1, of_pool);
    for _ in 0..40 {
        assert_eq!(world.next(&["a"], of_pool).unwrap().1, "a");
    }
    for _ in 0..2 {
        assert_eq!(world.next(&["a", "c"], of_pool).unwrap().1, "c");
        assert_eq!(world.next(&["a", "b"], of_pool).unwrap().1, "b");
    }
    let next = served(&mut world, 4, of_pool);
    assert!(next.iter().all(|queue| queue != "a"), "{next:?}");
    for queue in ["b", "c"] {
        assert_eq!(next.iter().filter(|one| *one == queue).count(), 2, "{next:?}");
    }
    let later = served(&mut world, 40, of_pool);
    assert!(later[6..].iter().filter(|one| *one == "a").count() >= 24, "{later:?}");
}

fn fetch_of(world: &mut World, queues: &[&str]) -> Reply {
    let queues = queues.iter().map(|name| QueueName::parse(name).unwrap()).collect();
    world.apply(Command::Fetch(Fetch::of(queues, 1)))
}

#[test]
fn more_than_everything_is_promised_to_no_fetch() {
    let guaranteed = |min_ratio: Option<u32>| {
        let starvation = Starvation { enabled: true, rotation_ms: 30_000, min_ratio };
        World::with(Config { starvation, ..Config::default() })
    };
    let mut world = guaranteed(Some(400_000));
    three_queues(&mut world, 10);
    let reply = fetch_of(&mut world, &ALL);
    assert!(matches!(reply, Reply::Refused(Refusal::RatioTooLarge { queues: 3 })), "{reply:?}");
    let reply = fetch_of(&mut world, &["a", "b"]);
    assert!(matches!(&reply, Reply::Fetched(one) if one.len() == 1), "{reply:?}");

    let mut world = guaranteed(None);
    let many: Vec<&str> = (0..40).map(|n| name(format!("q{n}"))).collect();
    for queue in &many {
        world.enqueue(&job("t").queue(queue), 1);
    }
    let reply = fetch_of(&mut world, &many);
    assert!(matches!(&reply, Reply::Fetched(one) if one.len() == 1), "{reply:?}");
}

#[test]
fn nothing_of_a_deleted_pool_stays_on_disk() {
    let scope = json!({"queues": ["a", "b"], "strategy": "round-robin", "fairness_scope": "pool"});
    // Written out after nearly every batch, or never.
    for journal_entries in [1, 100_000] {
        let mut world = World::with(Config { journal_entries, ..Config::default() });
        world.put_pool("p", scope.clone());
        world.put_pool("kept", scope.clone());
        for queue in ["a", "b"] {
            world.enqueue(&job("t").queue(queue), 20);
        }
        for name in ["p", "kept"] {
            (0..8).for_each(|_| drop(world.fetch_with(&[], 1, |fetch| fetch.pool = pool(name))));
        }
        let rows = |world: &World, name: &str| {
            let kinds = [RowKind::RotationState, RowKind::DispatchState];
            let names = kinds.into_iter().flat_map(|kind| world.rows_of(kind));
            names.filter(|row| row.ends_with(name)).count()
        };
        assert_eq!(rows(&world, "pool:p") > 0, journal_entries == 1);
        world.apply(Command::RemovePool(PoolName::parse("p").unwrap()));
        assert_eq!((rows(&world, "pool:p"), rows(&world, "pool/p")), (0, 0));
        // Nothing comes back from the journal.
        world.crash(0);
        for _ in 0..8 {
            world.fetch_with(&[], 1, |fetch| fetch.pool = pool("kept"));
            world.pass(10_000);
        }
        assert_eq!((rows(&world, "pool:p"), rows(&world, "pool/p")), (0, 0));
        assert_eq!(rows(&world, "pool:kept") > 0, journal_entries == 1);
    }
}
