//! Fetches that wait, and who of them gets a job.

use crate::world::{Job, World, concurrency, count, job, pool};
use rota_engine::{Beat, Command, Fetch, Reason, Refusal, Registration, Reply, WaiterId};
use rota_model::{PoolName, QueueName, WorkerId};
use serde_json::json;

fn worker(name: &str) -> Option<WorkerId> {
    Some(WorkerId::parse(name).unwrap())
}

fn wait(world: &mut World, id: u64, queues: &[&str], change: impl FnOnce(&mut Fetch)) {
    let got = world.fetch_with(queues, 1, |fetch| {
        fetch.wait = Some((WaiterId(id), 60_000));
        change(fetch);
    });
    assert!(got.is_empty(), "{got:?}");
}

/// Who was given jobs since the last call.
fn woken(world: &mut World) -> Vec<(u64, usize)> {
    let jobs = |reply: Reply| match reply {
        Reply::Fetched(claimed) => claimed.len(),
        other => panic!("{other:?}"),
    };
    std::mem::take(&mut world.woken).into_iter().map(|(id, reply)| (id.0, jobs(reply))).collect()
}

#[test]
fn the_least_loaded_worker_gets_the_job_although_another_has_waited_longer() {
    let mut world = World::new();
    for (strategy, first) in [("least-loaded", 2), ("strict", 1)] {
        let name = format!("by-{strategy}");
        let queue = if first == 2 { "a" } else { "b" };
        world.put_pool(&name, json!({"queues": [queue], "strategy": strategy}));
        world.enqueue(&job("t").queue(queue), 2);
        let busy = worker(&format!("busy-{strategy}"));
        let idle = worker(&format!("idle-{strategy}"));
        let of = |who: Option<WorkerId>| (who, pool(&name));
        let taken = world.fetch_with(&[], 2, |f| (f.worker, f.pool) = of(busy.clone()));
        assert_eq!(taken.len(), 2);
        wait(&mut world, 1, &[], |f| (f.worker, f.pool) = of(busy));
        wait(&mut world, 2, &[], |f| (f.worker, f.pool) = of(idle));
        world.enqueue(&job("t").queue(queue), 1);
        assert_eq!(woken(&mut world), [(first, 1)], "{strategy}");
        world.enqueue(&job("t").queue(queue), 1);
        assert_eq!(woken(&mut world), [(3 - first, 1)], "{strategy}");
    }
}

#[test]
fn a_waiting_worker_that_has_finished_its_jobs_is_the_least_loaded() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["a"], "strategy": "least-loaded"}));
    world.enqueue(&job("t").queue("a"), 3);
    let of = |name: &str| (worker(name), pool("p"));
    let first = world.fetch_with(&[], 2, |f| (f.worker, f.pool) = of("w1"));
    world.fetch_with(&[], 1, |f| (f.worker, f.pool) = of("w2"));
    wait(&mut world, 1, &[], |f| (f.worker, f.pool) = of("w2"));
    wait(&mut world, 2, &[], |f| (f.worker, f.pool) = of("w1"));
    first.iter().for_each(|job| world.ack(job.seq));
    world.enqueue(&job("t").queue("a"), 1);
    assert_eq!(woken(&mut world), [(2, 1)]);
}

#[test]
fn the_least_loaded_worker_gets_no_more_than_it_has_room_for() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["a", "b"], "strategy": "least-loaded"}));
    for (name, room) in [("small", 2), ("large", 9)] {
        let id = worker(name).unwrap();
        let about =
            Registration { pool: pool("p"), concurrency: Some(room), ..Registration::named(id) };
        assert!(!matches!(world.apply(Command::Register(about.into())), Reply::Refused(_)));
    }
    world.enqueue(&job("t").queue("a"), 3);
    world.enqueue(&job("t").queue("b"), 3);
    let take = |world: &mut World, name: &str| {
        world.fetch_with(&[], 9, |f| (f.worker, f.pool) = (worker(name), pool("p")))
    };
    let held = take(&mut world, "small");
    assert_eq!(held.len(), 2);
    assert!(take(&mut world, "small").is_empty(), "it has no room");
    assert_eq!(take(&mut world, "large").len(), 4);

    let of = |name: &str| (worker(name), pool("p"));
    wait(&mut world, 1, &[], |f| (f.worker, f.pool) = of("small"));
    wait(&mut world, 2, &[], |f| (f.worker, f.pool) = of("large"));
    world.enqueue(&job("t").queue("a"), 1);
    assert_eq!(woken(&mut world), [(2, 1)], "the least loaded one has no room");
    wait(&mut world, 3, &[], |f| (f.worker, f.pool) = of("large"));
    world.ack(held[0].seq);
    world.enqueue(&job("t").queue("b"), 1);
    assert_eq!(woken(&mut world), [(1, 1)], "it has room again");
}

#[test]
fn a_waiting_fetch_of_a_pool_gets_what_waits_in_a_queue_that_joins_it() {
    let mut world = World::new();
    world.enqueue(&job("t").queue("b"), 1);
    world.put_pool("p", json!({"queues": ["a"]}));
    wait(&mut world, 1, &[], |f| f.pool = pool("p"));
    assert_eq!(woken(&mut world), []);
    world.put_pool("p", json!({"queues": ["a", "b"]}));
    assert_eq!(woken(&mut world), [(1, 1)]);
}

#[test]
fn a_waiting_fetch_of_a_pool_gets_what_comes_into_a_new_queue_of_it() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["a", "b"]}));
    wait(&mut world, 1, &[], |f| f.pool = pool("p"));
    world.enqueue(&job("t").queue("b"), 1);
    assert_eq!(woken(&mut world), [(1, 1)]);
}

#[test]
fn workers_of_a_deleted_pool_go_on_by_queue_name_and_may_join_another() {
    let mut world = World::new();
    world.enqueue(&job("t").queue("a"), 1);
    world.enqueue(&job("t").queue("b"), 1);
    world.put_pool("p", json!({"queues": ["a"]}));
    let own = || (worker("w"), pool("p"));
    assert_eq!(world.fetch_with(&[], 1, |f| (f.worker, f.pool) = own()).len(), 1);
    wait(&mut world, 1, &["a"], |f| f.worker = worker("w"));

    remove_pool(&mut world, "p");
    assert_eq!(world.fetch_with(&["b"], 1, |f| f.worker = worker("w")).len(), 1);
    world.enqueue(&job("t").queue("a"), 1);
    assert_eq!(woken(&mut world), [(1, 1)], "it waits for the queue that it named");

    world.put_pool("other", json!({"queues": ["c"]}));
    world.enqueue(&job("t").queue("c"), 1);
    let joined = world.fetch_with(&[], 1, |f| (f.worker, f.pool) = (worker("w"), pool("other")));
    assert_eq!(joined.len(), 1);
    assert_eq!(world.engine.pool(None, &pool("other").unwrap()).unwrap().active_jobs, 1);
}

fn remove_pool(world: &mut World, name: &str) {
    let removed = world.apply(Command::RemovePool(PoolName::parse(name).unwrap()));
    assert!(matches!(removed, Reply::Pool { .. }), "{removed:?}");
}

fn register(world: &mut World, name: &str, queues: &[&str]) {
    let queues = queues.iter().map(|queue| QueueName::parse(queue).unwrap()).collect();
    let id = worker(name).unwrap();
    let about = Registration { pool: pool("p"), queues, ..Registration::named(id) };
    let reply = world.apply(Command::Register(about.into()));
    assert!(!matches!(reply, Reply::Refused(_)), "{reply:?}");
}

#[test]
fn who_waits_for_a_deleted_pool_by_its_name_is_told_so_at_once() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["a"]}));
    world.put_pool("other", json!({"queues": ["a"]}));
    wait(&mut world, 1, &[], |f| f.pool = pool("p"));
    wait(&mut world, 2, &["a"], |f| (f.worker, f.pool) = (worker("w"), pool("p")));
    wait(&mut world, 3, &[], |f| f.pool = pool("other"));
    remove_pool(&mut world, "p");
    let answered = std::mem::take(&mut world.woken);
    assert_eq!(answered.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 2]);
    for (_, reply) in answered {
        assert!(matches!(reply, Reply::Refused(Refusal::UnknownPool { .. })), "{reply:?}");
    }
    world.enqueue(&job("t").queue("a"), 1);
    assert_eq!(woken(&mut world), [(3, 1)]);
}

#[test]
fn who_waits_for_a_queue_that_its_pool_loses_is_told_so_at_once() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["a", "b", "c"]}));
    world.put_pool("other", json!({"queues": ["b"]}));
    wait(&mut world, 1, &["b"], |f| f.pool = pool("p"));
    wait(&mut world, 2, &["a", "b"], |f| (f.worker, f.pool) = (worker("w"), pool("p")));
    wait(&mut world, 3, &["a"], |f| f.pool = pool("p"));
    wait(&mut world, 4, &[], |f| f.pool = pool("p"));
    wait(&mut world, 5, &["b"], |f| f.pool = pool("other"));
    world.put_pool("p", json!({"queues": ["a", "c"]}));
    let answered = std::mem::take(&mut world.woken);
    assert_eq!(answered.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 2]);
    for (_, reply) in answered {
        assert!(matches!(reply, Reply::Refused(Refusal::NotInPool { .. })), "{reply:?}");
    }
    for (queue, waiter) in [("b", 5), ("a", 3), ("c", 4)] {
        world.enqueue(&job("t").queue(queue), 1);
        assert_eq!(woken(&mut world), [(waiter, 1)]);
    }
}

#[test]
fn a_heartbeat_names_no_other_pool_than_its_workers() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["a"]}));
    world.put_pool("other", json!({"queues": ["b"]}));
    let beat = |world: &mut World, named: &str| {
        let id = worker("w").unwrap();
        let about = Registration { pool: pool(named), ..Registration::named(id.clone()) };
        let (state, jobs, visibility_ms) = (None, Vec::new(), None);
        world.apply(Command::Beat(Beat {
            worker: id,
            state,
            jobs,
            visibility_ms,
            about: about.into(),
        }))
    };
    let unknown = beat(&mut world, "nope");
    assert!(matches!(unknown, Reply::Refused(Refusal::UnknownPool { .. })), "{unknown:?}");
    assert!(matches!(beat(&mut world, "p"), Reply::Beat(_)));
    let other = beat(&mut world, "other");
    assert!(matches!(other, Reply::Refused(Refusal::OtherPool { .. })), "{other:?}");
    world.enqueue(&job("t").queue("a"), 1);
    let joined = world.fetch_with(&[], 1, |f| f.worker = worker("w"));
    assert_eq!(joined.len(), 1, "its heartbeat named the pool");
    remove_pool(&mut world, "p");
    assert!(matches!(beat(&mut world, "p"), Reply::Beat(_)), "it keeps its jobs");
}

#[test]
fn workers_of_a_deleted_pool_wait_for_what_they_registered_for() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["a"]}));
    register(&mut world, "w1", &["b"]);
    register(&mut world, "w2", &["b"]);
    register(&mut world, "no-queues", &[]);
    world.enqueue(&job("t").queue("b"), 1);
    for (id, name) in [(1, "w1"), (2, "w2"), (3, "no-queues")] {
        wait(&mut world, id, &[], |f| f.worker = worker(name));
    }
    remove_pool(&mut world, "p");
    let mut answered = std::mem::take(&mut world.woken);
    answered.sort_by_key(|(id, _)| *id);
    assert!(matches!(&answered[0], (WaiterId(1), Reply::Fetched(one)) if one.len() == 1));
    assert!(matches!(&answered[1..], [(WaiterId(3), Reply::Refused(Refusal::NoQueues))]));
    world.enqueue(&job("t").queue("b"), 1);
    assert_eq!(woken(&mut world), [(2, 1)]);

    wait(&mut world, 4, &[], |f| f.worker = worker("w1"));
    world.put_pool("p", json!({"queues": ["a"]}));
    world.enqueue(&job("t").queue("b"), 1);
    assert_eq!(woken(&mut world), [], "it is in the pool again");
    world.enqueue(&job("t").queue("a"), 1);
    assert_eq!(woken(&mut world), [(4, 1)]);
}

/// The queues of the next jobs, while one may be active at a time and a fetch waits for each queue.
fn take_turns(world: &mut World, jobs: [Job; 2], of_pool: Option<PoolName>) -> Vec<String> {
    let mut id = 0;
    let mut wait_for = |world: &mut World, queue: &str| {
        id += 1;
        let own = (of_pool.clone(), Some((WaiterId(id), 600_000)));
        world.fetch_with(&[queue], 1, |fetch| (fetch.pool, fetch.wait) = own)
    };
    for job in &jobs {
        world.enqueue(job, 50);
    }
    let mut running = wait_for(world, jobs[0].queue)[0].seq;
    for job in jobs.iter().rev() {
        assert!(wait_for(world, job.queue).is_empty());
    }
    let mut served = Vec::new();
    for _ in 0..20 {
        world.ack(running);
        let Some((_, Reply::Fetched(claimed))) = world.woken.pop() else { panic!("nobody woke") };
        running = claimed[0].seq;
        let queue = world.queue_of(running);
        assert!(wait_for(world, &queue).is_empty());
        served.push(queue);
    }
    served
}

#[test]
fn fetches_for_different_queues_take_turns_at_a_key() {
    let limited = |name| job(name).queue(name).limit(concurrency("k", 1));
    let served = take_turns(&mut World::new(), ["a", "b"].map(limited), None);
    assert_eq!(count(&served, "a"), 10, "{served:?}");
}

#[test]
fn fetches_of_a_full_pool_for_different_queues_take_turns() {
    let mut world = World::new();
    let narrow = json!({"queues": ["a", "b"], "strategy": "round-robin", "concurrency": 1});
    world.put_pool("p", narrow);
    let jobs = ["a", "b"].map(|name| job(name).queue(name));
    let served = take_turns(&mut world, jobs, pool("p"));
    assert_eq!(count(&served, "a"), 10, "{served:?}");
}

#[test]
fn a_batch_is_spread_over_the_least_loaded_workers() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["a"], "strategy": "least-loaded"}));
    world.enqueue(&job("t").queue("a"), 2);
    let of = |name: &str| (worker(name), pool("p"));
    assert_eq!(world.fetch_with(&[], 2, |f| (f.worker, f.pool) = of("busy")).len(), 2);
    for (id, name) in [(1, "busy"), (2, "idle")] {
        wait(&mut world, id, &[], |f| {
            (f.worker, f.pool) = of(name);
            f.count = 10;
        });
    }
    world.try_enqueue(&vec![job("t").queue("a"); 8], 0);
    assert_eq!(woken(&mut world), [(1, 3), (2, 5)], "each has five then");
}

#[test]
fn a_fetch_that_waited_before_its_queue_existed_counts_as_a_worker() {
    let mut world = World::new();
    let job = job("a").limit(concurrency("k", 1));
    world.enqueue(&job, 1);
    world.fetch(1);
    let wait = Some((WaiterId(9), 10_000));
    assert!(world.fetch_with(&["later"], 1, |fetch| fetch.wait = wait).is_empty());
    let seq = world.enqueue(&job.queue("later"), 1)[0];
    let no_worker = |world: &World| {
        let explained = world.engine.explain(&world.target(seq));
        explained.reasons.iter().any(|reason| matches!(reason, Reason::NoWorker { .. }))
    };
    assert!(!no_worker(&world), "a worker waits for it");
    world.apply(Command::StopWaiting(WaiterId(9)));
    assert!(no_worker(&world));
}
