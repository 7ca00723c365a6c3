//! Queues that are deleted.

use rota_engine::{Command, QueueSettings, Refusal, Reply};
use rota_model::{QueueName, TenantId};
use serde_json::json;

use crate::world::{World, job, pool};

fn queue(name: &str) -> QueueName {
    QueueName::parse(name).unwrap()
}

fn delete(world: &mut World, name: &str) {
    let reply = world.apply(Command::DeleteQueue(queue(name)));
    assert!(matches!(reply, Reply::Queue(_)), "{reply:?}");
}

#[test]
fn a_queue_is_deleted_when_none_of_its_jobs_lives() {
    let mut world = World::new();
    let delete_q = || Command::DeleteQueue(queue("q"));
    assert!(matches!(world.apply(delete_q()), Reply::Refused(Refusal::UnknownQueue)));
    let sent = world.enqueue(&job("a").queue("q"), 2);
    let refusal = Refusal::QueueHasJobs { living: 2 };
    assert!(matches!(world.apply(delete_q()), Reply::Refused(r) if r == refusal));
    world.fetch_with(&["q"], 2, |_| {});
    sent.into_iter().for_each(|seq| world.ack(seq));
    delete(&mut world, "q");
    assert!(world.engine.queue("q").is_none());
    assert_eq!(world.engine.queue_count(), 0);
    assert!(world.engine.queue_of_tenant("q", "a").is_none());
    assert!(matches!(world.apply(delete_q()), Reply::Refused(Refusal::UnknownQueue)));
    world.crash(0);
    assert!(world.engine.queue("q").is_none());
}

#[test]
fn nothing_that_was_said_of_a_deleted_queue_counts_when_it_comes_back() {
    let mut world = World::new();
    let (acme, q) = (TenantId::parse("acme").unwrap(), queue("q"));
    let settings = QueueSettings { concurrency: Some(1), ..QueueSettings::default() };
    world.apply(Command::ConfigureQueue(q.clone(), settings));
    world.apply(Command::PauseQueue(q.clone()));
    world.apply(Command::PauseShard(acme.clone(), q.clone()));
    world.say("queue:q", json!({"concurrency": 0}), None);
    delete(&mut world, "q");
    for restart in [false, true] {
        if restart {
            world.crash(0);
        }
        let sent = world.enqueue(&job("acme").queue("q"), 2);
        assert_eq!(world.fetch_with(&["q"], 9, |_| {}).len(), 2, "after a restart: {restart}");
        sent.into_iter().for_each(|seq| world.ack(seq));
        delete(&mut world, "q");
    }
}

#[test]
fn pools_and_waiting_fetches_get_jobs_of_a_deleted_queue_that_comes_back() {
    let mut world = World::new();
    world.put_pool("p", json!({"queues": ["q", "r"], "strategy": "weighted"}));
    world.apply(Command::PauseQueue(queue("q")));
    world.enqueue(&job("a").queue("r"), 1);
    assert!(world.next(&[], |fetch| fetch.pool = pool("p")).is_some());
    let wait =
        |fetch: &mut rota_engine::Fetch| fetch.wait = Some((rota_engine::WaiterId(1), 60_000));
    world.fetch_with(&["q"], 1, wait);
    delete(&mut world, "q");
    assert_eq!(world.engine.waiting_fetches(), 1);
    world.enqueue(&job("a").queue("q"), 2);
    assert!(matches!(&world.woken[..], [(_, Reply::Fetched(jobs))] if jobs.len() == 1));
    let next = world.next(&[], |fetch| fetch.pool = pool("p"));
    assert_eq!(next, Some(("a".into(), "q".into())));
}
