//! The last events, in memory, for whoever asks.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use rota_engine::{Event, EventKind, JobRef};
use rota_model::{JobId, Seq};

/// A bounded ring. An event's id tells its place in it, so reading on costs nothing to find.
pub struct Events {
    ring: Mutex<Ring>,
    capacity: usize,
    /// Tells the ids of this process from those of an earlier one.
    boot: u16,
}

struct Ring {
    events: VecDeque<Event>,
    /// The number of the first event in the ring.
    first: u64,
}

/// Which events; an empty list means all.
#[derive(Debug, Default, Clone)]
pub struct EventFilter {
    pub types: Vec<String>,
    pub queues: Vec<String>,
    pub job_types: Vec<String>,
}

pub struct EventPage {
    pub events: Vec<(JobId, Event)>,
    pub has_more: bool,
}

const BOOT_SHIFT: u32 = 64;
const NUMBER_BITS: u128 = (1 << 62) - 1;

impl Events {
    #[must_use]
    pub fn new(capacity: usize, boot: u16) -> Self {
        let ring = Ring { events: VecDeque::new(), first: 0 };
        Self { ring: Mutex::new(ring), capacity, boot: boot & 0xfff }
    }

    /// Takes in events that have been committed.
    pub fn publish(&self, events: Vec<Event>) {
        if events.is_empty() || self.capacity == 0 {
            return;
        }
        let mut ring = self.lock();
        ring.events.extend(events);
        let excess = ring.events.len().saturating_sub(self.capacity);
        ring.events.drain(..excess);
        ring.first += excess as u64;
    }

    /// Events behind the given one, oldest first. Behind one that has left the ring, or that an
    /// earlier process had, everything follows.
    #[must_use]
    pub fn after(&self, cursor: Option<JobId>, filter: &EventFilter, limit: usize) -> EventPage {
        let ring = self.lock();
        let from = cursor.and_then(|id| self.number_of(id)).map_or(0, |number| number + 1);
        let skip = from.saturating_sub(ring.first) as usize;
        let numbered = ring.events.iter().enumerate().skip(skip);
        let mut matching = numbered.filter(|(_, event)| filter.admits(event));
        let take =
            |(i, event): (usize, &Event)| (self.id_of(ring.first + i as u64, event), event.clone());
        let events = matching.by_ref().take(limit).map(take).collect();
        EventPage { events, has_more: matching.next().is_some() }
    }

    /// The ids of jobs, as far as any event in the ring tells them.
    #[must_use]
    pub fn ids_of(&self, seqs: &[Seq]) -> HashMap<Seq, JobId> {
        let ring = self.lock();
        let jobs = ring.events.iter().filter_map(|event| job_of(&event.kind));
        let wanted = jobs.filter(|job| seqs.binary_search(&job.seq).is_ok());
        wanted.filter_map(|job| Some((job.seq, job.id?))).collect()
    }

    fn id_of(&self, number: u64, event: &Event) -> JobId {
        let low = u128::from(number) & NUMBER_BITS;
        JobId::v7(event.at.0, u128::from(self.boot) << BOOT_SHIFT | low)
    }

    fn number_of(&self, id: JobId) -> Option<u64> {
        let value = u128::from_be_bytes(id.to_bytes());
        let same_process = (value >> BOOT_SHIFT) & 0xfff == u128::from(self.boot);
        same_process.then_some((value & NUMBER_BITS) as u64)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl EventFilter {
    fn admits(&self, event: &Event) -> bool {
        let named = |list: &[String], name: Option<&str>| {
            list.is_empty() || name.is_some_and(|name| list.iter().any(|wanted| wanted == name))
        };
        let job = job_of(&event.kind);
        let queue = match &event.kind {
            EventKind::QueuePaused { queue } | EventKind::QueueResumed { queue } => Some(&**queue),
            _ => job.map(|job| &*job.class.queue),
        };
        named(&self.types, Some(type_of(&event.kind)))
            && named(&self.queues, queue)
            && named(&self.job_types, job.map(|job| &*job.class.kind))
    }
}

/// An event's name in the catalogue.
#[must_use]
pub fn type_of(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Enqueued { .. } => "job.enqueued",
        EventKind::Scheduled { .. } => "job.scheduled",
        EventKind::Started { .. } => "job.started",
        EventKind::Completed { .. } => "job.completed",
        EventKind::Failed { .. } => "job.failed",
        EventKind::Retrying { .. } => "job.retrying",
        EventKind::Discarded { .. } => "job.discarded",
        EventKind::Cancelled { .. } => "job.cancelled",
        EventKind::Expired { .. } => "job.expired",
        EventKind::Extended { .. } => "job.heartbeat",
        EventKind::WorkerStarted { .. } => "worker.started",
        EventKind::WorkerQuieted { .. } => "worker.quiet",
        EventKind::WorkerBeat { .. } => "worker.heartbeat",
        EventKind::WorkerStopped { .. } => "worker.stopped",
        EventKind::QueuePaused { .. } => "queue.paused",
        EventKind::QueueResumed { .. } => "queue.resumed",
        EventKind::CronTriggered { .. } => "cron.triggered",
        EventKind::CronSkipped { .. } => "cron.skipped",
    }
}

/// The job that an event is about.
#[must_use]
pub fn job_of(kind: &EventKind) -> Option<&JobRef> {
    match kind {
        EventKind::Enqueued { job }
        | EventKind::Scheduled { job, .. }
        | EventKind::Started { job, .. }
        | EventKind::Completed { job, .. }
        | EventKind::Failed { job, .. }
        | EventKind::Retrying { job, .. }
        | EventKind::Discarded { job, .. }
        | EventKind::Cancelled { job, .. }
        | EventKind::Expired { job, .. }
        | EventKind::Extended { job, .. }
        | EventKind::CronTriggered { job, .. } => Some(job),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_model::{Millis, QueueName};

    fn paused(n: i64) -> Event {
        let queue = QueueName::parse(&format!("q{}", n % 3)).unwrap();
        Event { at: Millis(n), kind: EventKind::QueuePaused { queue } }
    }

    #[test]
    fn reading_on_from_the_last_id_gives_each_event_once() {
        let events = Events::new(1_000, 7);
        events.publish((0..100).map(paused).collect());
        let mut cursor = None;
        let mut seen = Vec::new();
        loop {
            let page = events.after(cursor, &EventFilter::default(), 7);
            cursor = page.events.last().map(|(id, _)| *id).or(cursor);
            seen.extend(page.events.into_iter().map(|(_, event)| event.at.0));
            if !page.has_more {
                break;
            }
        }
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
        events.publish(vec![paused(100)]);
        let page = events.after(cursor, &EventFilter::default(), 7);
        assert_eq!(page.events.len(), 1);
    }

    #[test]
    fn the_ring_is_bounded_and_filters_apply() {
        let events = Events::new(10, 7);
        events.publish((0..100).map(paused).collect());
        let all = events.after(None, &EventFilter::default(), 100);
        assert_eq!(all.events.first().map(|(_, e)| e.at.0), Some(90));
        let filter = EventFilter { queues: vec!["q0".into()], ..EventFilter::default() };
        assert_eq!(events.after(None, &filter, 100).events.len(), 4);
        let filter = EventFilter { types: vec!["job.enqueued".into()], ..EventFilter::default() };
        assert!(events.after(None, &filter, 100).events.is_empty());
    }

    #[test]
    fn an_id_of_another_process_starts_over() {
        let old = Events::new(10, 1);
        old.publish(vec![paused(1)]);
        let (id, _) = old.after(None, &EventFilter::default(), 1).events.remove(0);
        let new = Events::new(10, 2);
        new.publish(vec![paused(2)]);
        assert_eq!(new.after(Some(id), &EventFilter::default(), 9).events.len(), 1);
    }
}
