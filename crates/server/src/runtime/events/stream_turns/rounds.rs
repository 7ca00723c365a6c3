//! The task that looks at new events and gives streams their turns, in rounds.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::lines::ReadyLines;
use super::{Shared, StreamTurn};

/// The most streams that read at the same time.
pub(super) const SLICE: usize = 16;
/// Rounds that new events cause begin at least this far apart: many events in one go instead of one at a
/// time.
const PACE: Duration = Duration::from_millis(10);
/// Rounds take up one part in this many of the time.
const SHARE: u32 = 4;

pub(super) async fn run(shared: Arc<Shared>) {
    let (mut arrival, mut ending) = (shared.events.listen(), shared.events.ending());
    loop {
        let begin = Instant::now();
        arrival.mark_unchanged();
        scan(&shared);
        let mut round = shared.lines().take_ready();
        while give_turns(&shared, &mut round) > 0 {
            until_finished(&shared).await;
            // Everything else that is ready to run comes first.
            tokio::task::yield_now().await;
        }
        let is_behind = shared.lines().has_ready();
        tokio::time::sleep(pause_after(begin.elapsed(), is_behind)).await;
        if is_behind {
            continue;
        }
        tokio::select! {
            arrived = arrival.changed() => if arrived.is_err() { return },
            () = shared.ready.notified() => {}
            // Streams read the rest on their own.
            _ = ending.wait_for(|ended| *ended) => return,
        }
    }
}

/// Looks at the new events.
fn scan(shared: &Shared) {
    loop {
        let mut lines = shared.lines();
        if !lines.anyone_waits() {
            return lines.pass_to(shared.events.next_number());
        }
        let from = lines.scanned();
        let look = shared.events.look(from);
        if look.from > from {
            lines.skip_to(look.from);
            continue;
        }
        match look.chunk {
            Some(chunk) => lines.scan(&chunk),
            None => return,
        }
    }
}

/// Gives turns to the next streams of the round. Returns how many got one.
fn give_turns(shared: &Arc<Shared>, round: &mut ReadyLines) -> usize {
    let mut given = 0;
    while given < SLICE
        && let Some(stream) = round.next()
    {
        if stream.sender.is_closed() {
            continue;
        }
        shared.lines().begin_turn();
        // Dropped if the stream has gone meanwhile, which ends the turn.
        let _ = stream.sender.send(StreamTurn { shared: shared.clone(), from: stream.from });
        given += 1;
    }
    given
}

async fn until_finished(shared: &Shared) {
    while shared.lines().turns_under_way() > 0 {
        shared.finished.notified().await;
    }
}

/// The pause after a round that took this long.
fn pause_after(took: Duration, is_behind: bool) -> Duration {
    let pause = took * (SHARE - 1);
    if is_behind { pause } else { pause.max(PACE.saturating_sub(took)) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rota_engine::{Event, EventKind, JobRef};
    use rota_model::{Class, JobId, JobType, Millis, QueueName, Seq, State, TenantId};

    use super::super::{StreamTurns, Waiting};
    use super::*;
    use crate::runtime::Events;

    fn turns() -> (Arc<Events>, StreamTurns) {
        let events = Arc::new(Events::empty(1_000));
        (events.clone(), StreamTurns::new(events))
    }

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).unwrap()
    }

    /// An event that only this tenant and operators see.
    fn created(name: &str) -> Event {
        Event { at: Millis(1), kind: EventKind::TenantCreated { tenant: tenant(name) } }
    }

    fn wait(turns: &StreamTurns, events: &Events, name: &str) -> Waiting {
        turns.wait(Some(&tenant(name)), events.next_number())
    }

    #[tokio::test]
    async fn events_of_one_tenant_give_no_turn_to_others() {
        let (events, turns) = turns();
        let mut others: Vec<Waiting> = (0..999).map(|_| wait(&turns, &events, "a")).collect();
        let (mut own, mut operator) = (wait(&turns, &events, "b"), turns.wait(None, 1));
        for number in 1..=300 {
            events.publish_next(vec![created("b")]);
            assert_eq!(own.turn().await.from(), number);
            assert_eq!(operator.turn().await.from(), number);
            own = wait(&turns, &events, "b");
            operator = turns.wait(None, number + 1);
        }
        // They know that they have missed nothing, although they have read nothing.
        assert!(others.iter().all(|other| other.passed() == Some(301)));
        drop((own, operator));
        events.publish_next(vec![created("b"), created("a")]);
        for other in &mut others {
            assert_eq!(other.turn().await.from(), 302);
        }
    }

    #[tokio::test]
    async fn streams_read_a_few_at_a_time_and_the_tenants_in_turn() {
        let (events, turns) = turns();
        let order = Arc::new(Mutex::new(Vec::new()));
        let under_way = Arc::new(AtomicUsize::new(0));
        let names = (0..500).map(|_| "a").chain((0..3).map(|_| "b")).chain(["c"]);
        let mut tasks = Vec::new();
        for name in names {
            let mut waiting = wait(&turns, &events, name);
            let (order, under_way) = (order.clone(), under_way.clone());
            tasks.push(tokio::spawn(async move {
                let turn = waiting.turn().await;
                assert!(under_way.fetch_add(1, Ordering::SeqCst) < SLICE);
                order.lock().unwrap().push(name);
                tokio::task::yield_now().await;
                under_way.fetch_sub(1, Ordering::SeqCst);
                drop(turn);
            }));
        }
        events.publish_next(vec![created("a"), created("b"), created("c")]);
        for task in tasks {
            task.await.unwrap();
        }
        let order = order.lock().unwrap();
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        order.iter().take(SLICE).for_each(|name| *first.entry(name).or_default() += 1);
        assert_eq!(first, BTreeMap::from([("a", SLICE - 4), ("b", 3), ("c", 1)]));
        assert_eq!(order.len(), 504);
    }

    #[tokio::test]
    async fn who_is_behind_gets_another_turn_without_a_new_event() {
        let (events, turns) = turns();
        let mut waiting = turns.wait(None, events.next_number());
        events.publish_next(vec![created("a"), created("a")]);
        assert_eq!(waiting.turn().await.from(), 1);
        // It has read one of the two.
        let mut waiting = turns.wait(None, 2);
        assert_eq!(waiting.turn().await.from(), 0);
    }

    #[tokio::test]
    async fn who_has_gone_leaves_nothing_behind() {
        let (events, turns) = turns();
        for _ in 0..100 {
            drop(wait(&turns, &events, "a"));
            drop(turns.job_end(Seq(1)));
        }
        let mut last = wait(&turns, &events, "a");
        assert!(turns.shared.lines().anyone_waits());
        events.publish_next(vec![created("a")]);
        drop(last.turn().await);
        assert!(!turns.shared.lines().anyone_waits());
        assert_eq!(turns.shared.lines().turns_under_way(), 0);
    }

    #[tokio::test]
    async fn the_end_of_a_job_wakes_who_waits_for_it() {
        let (events, turns) = turns();
        let (mut own, _other) = (turns.job_end(Seq(1)), turns.job_end(Seq(2)));
        let class = Arc::new(Class {
            queue: QueueName::default_queue(),
            kind: JobType::parse("t").unwrap(),
            tenant: tenant("a"),
            priority: 0,
            policy: Arc::default(),
        });
        let job = JobRef { seq: Seq(1), id: Some(JobId::v7(1, 1)), class };
        let kind = EventKind::Deleted { job, before: State::Available };
        events.publish_next(vec![Event { at: Millis(1), kind }]);
        own.wait().await;
        assert!(turns.shared.lines().anyone_waits(), "the other one still waits");
    }

    #[test]
    fn rounds_take_up_a_part_of_the_time() {
        let ms = Duration::from_millis;
        assert_eq!(pause_after(ms(1), false), PACE - ms(1));
        assert_eq!(pause_after(ms(100), false), ms(300));
        assert_eq!(pause_after(ms(100), true), ms(300));
        assert_eq!(pause_after(ms(0), true), ms(0));
    }
}
