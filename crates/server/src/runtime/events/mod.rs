//! Recent events in memory, for lists and streams.

mod about;
mod filter;
mod opaque;
mod record;
mod restore;
mod ring;
mod stream_turns;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rota_engine::Event;
use rota_model::{IdKey, JobId, Millis, Seq};
use tokio::sync::watch;

pub use about::{About, Change, NAMES, Subject, ends_job};
pub use filter::{EventFilter, TypeFilter};
use opaque::OpaqueNumbers;
pub(super) use record::EventEncoder;
use ring::Ring;
pub use ring::{CHUNK, Chunk, Name, Names};
pub use stream_turns::{JobEnd, StreamTurn, StreamTurns, Waiting};

/// A bounded ring. An event's id tells its place in it, so reading on costs nothing to find.
pub struct Events {
    ring: Mutex<Ring>,
    capacity: usize,
    numbers: OpaqueNumbers,
    arrival: watch::Sender<()>,
    ended: watch::Sender<bool>,
}

pub struct EventPage {
    pub events: Vec<(JobId, Event)>,
    pub has_more: bool,
    /// Events behind the cursor, or without a cursor the first ones, have left the ring.
    pub gap: bool,
    /// Where the next page goes on: the last event that was looked at, whether it was admitted or not.
    pub cursor: Option<JobId>,
}

/// The ids of an event: its own, and that of something that is said about it before something else is.
#[derive(Debug, Clone, Copy)]
pub struct EventIds {
    pub whole: JobId,
    pub part: JobId,
}

/// What there is to read at some place.
pub struct Look {
    /// The place itself, or the oldest event if that is later: what is between was missed.
    pub from: u64,
    /// `None` when everything was read.
    pub chunk: Option<Arc<Chunk>>,
}

impl Events {
    /// A number that counts things of all tenants, hidden from a tenant.
    pub fn hidden_number(&self, number: u64) -> String {
        let at = Millis(0);
        JobId::v7(at.0, self.numbers.hide(number, at)).to_string()
    }

    /// The number that [`Events::hidden_number`] has hidden.
    pub fn revealed_number(&self, text: &str) -> Option<u64> {
        let id = JobId::parse(text).ok()?;
        self.numbers.reveal(u128::from_be_bytes(id.to_bytes()))
    }

    /// A ring after so many events. The key hides numbers in ids; with the same one, ids mean the same.
    #[must_use]
    pub fn new(capacity: usize, event_count: u64, key: IdKey) -> Self {
        Self {
            ring: Mutex::new(Ring::new(capacity, event_count + 1)),
            capacity,
            numbers: OpaqueNumbers::new(key),
            arrival: watch::Sender::new(()),
            ended: watch::Sender::new(false),
        }
    }

    /// Whether any are kept at all.
    #[must_use]
    pub fn are_kept(&self) -> bool {
        self.capacity > 0
    }

    /// Takes in events that have been committed. The first of them has the number `first`.
    pub fn publish(&self, first: u64, events: Vec<Event>) {
        if events.is_empty() || self.capacity == 0 {
            return;
        }
        self.lock().push(first, events);
        // Who listens has said so before looking into the ring, so nobody is overlooked here.
        if self.arrival.receiver_count() > 0 {
            self.arrival.send_replace(());
        }
    }

    /// Events that follow the last ones.
    #[cfg(test)]
    pub(crate) fn publish_next(&self, events: Vec<Event>) {
        self.publish(self.next_number(), events);
    }

    /// A ring before the first event.
    #[cfg(test)]
    pub(crate) fn empty(capacity: usize) -> Self {
        Self::new(capacity, 0, IdKey(1))
    }

    /// Tells when events have arrived. To be asked for before the first look.
    #[must_use]
    pub fn listen(&self) -> watch::Receiver<()> {
        self.arrival.subscribe()
    }

    /// Tells when streams are to end.
    #[must_use]
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }

    pub(crate) fn end_streams(&self) {
        self.ended.send_replace(true);
    }

    /// Events behind the given one, oldest first. Behind one that has left the ring, everything follows.
    #[must_use]
    pub fn after(
        &self,
        cursor: Option<JobId>,
        filter: &EventFilter,
        limit: usize,
        now: Millis,
    ) -> EventPage {
        let mut from = match cursor {
            None => 1,
            Some(id) => self.number_of(id).map_or(0, |number| number + 1),
        };
        let first = self.look(from).from;
        let gap = first > from;
        // The gap is reported once: the next read starts after it.
        let cursor = if gap { Some(self.id_of(first - 1, now)) } else { cursor };
        let mut page = EventPage { events: Vec::new(), has_more: false, gap, cursor };
        loop {
            let look = self.look(from);
            let Some(chunk) = look.chunk else { return page };
            for (number, event) in chunk.from(look.from) {
                if !filter.admits(event) {
                    // The cursor has the current time: the event's may belong to another tenant.
                    page.cursor = Some(self.id_of(number, now));
                    continue;
                }
                if page.events.len() == limit {
                    page.has_more = true;
                    return page;
                }
                let id = self.id_of(number, event.at);
                page.events.push((id, event.clone()));
                page.cursor = Some(id);
            }
            from = chunk.end();
        }
    }

    #[must_use]
    pub fn look(&self, from: u64) -> Look {
        let ring = self.lock();
        let from = from.max(ring.first());
        Look { from, chunk: ring.chunk(from) }
    }

    /// The number that the next event will have.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.lock().next
    }

    /// The ids of jobs, as far as any event in the ring tells them. `seqs` is sorted.
    #[must_use]
    pub fn ids_of(&self, seqs: &[Seq]) -> HashMap<Seq, JobId> {
        let chunks = self.lock().chunks();
        let mut found = HashMap::new();
        // A job that is gone has mostly gone a moment ago.
        for chunk in chunks.iter().rev() {
            let jobs = chunk.from(0).filter_map(|(_, event)| About::of(&event.kind).job);
            let wanted = jobs.filter(|job| seqs.binary_search(&job.seq).is_ok());
            found.extend(wanted.filter_map(|job| Some((job.seq, job.id?))));
            if found.len() == seqs.len() {
                break;
            }
        }
        found
    }

    /// Jobs that end with an event of some kind from this number on.
    #[must_use]
    pub fn jobs_that_end(&self, from: u64, is_meant: impl Fn(&Event) -> bool) -> HashSet<Seq> {
        let chunks = self.lock().chunks();
        let events = chunks.iter().flat_map(|chunk| chunk.from(from));
        let ends = events.filter(|(_, event)| ends_job(&event.kind) && is_meant(event));
        ends.filter_map(|(_, event)| Some(About::of(&event.kind).job?.seq)).collect()
    }

    /// The newest events first, from the `skip`th on; and how many there are in all.
    #[must_use]
    pub fn newest(
        &self,
        filter: &EventFilter,
        skip: usize,
        limit: usize,
    ) -> (Vec<(JobId, Event)>, usize) {
        let (chunks, first) = {
            let ring = self.lock();
            (ring.chunks(), ring.first())
        };
        let (mut page, mut total) = (Vec::new(), 0);
        for chunk in chunks.iter().rev() {
            let events: Vec<_> = chunk.from(first).collect();
            for (number, event) in events.into_iter().rev() {
                if !filter.admits(event) {
                    continue;
                }
                if total >= skip && page.len() < limit {
                    page.push((self.id_of(number, event.at), event.clone()));
                }
                total += 1;
            }
        }
        (page, total)
    }

    /// The id of an event.
    #[must_use]
    pub fn id_of(&self, number: u64, at: Millis) -> JobId {
        self.id(number << 1 | 1, at)
    }

    /// Both ids of an event.
    #[must_use]
    pub fn ids(&self, number: u64, at: Millis) -> EventIds {
        EventIds { whole: self.id_of(number, at), part: self.id_of_part(number, at) }
    }

    /// The id of something that is said about an event before something else is.
    #[must_use]
    pub fn id_of_part(&self, number: u64, at: Millis) -> JobId {
        self.id(number << 1, at)
    }

    /// An id is the time, and behind it the number, which only who has the key can read.
    fn id(&self, number: u64, at: Millis) -> JobId {
        JobId::v7(at.0, self.numbers.hide(number, at))
    }

    /// The number of an event that there has been; if not all was said about that one, of the event before it.
    #[must_use]
    pub fn number_of(&self, id: JobId) -> Option<u64> {
        let hidden = self.numbers.reveal(u128::from_be_bytes(id.to_bytes()))?;
        let (number, is_part) = (hidden >> 1, hidden & 1 == 0);
        let is_known = number < self.lock().next;
        if is_known { number.checked_sub(u64::from(is_part)) } else { None }
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When an event with this id happened.
#[must_use]
pub fn time_of(id: JobId) -> Millis {
    Millis((u128::from_be_bytes(id.to_bytes()) >> 80) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_engine::EventKind;
    use rota_model::QueueName;

    fn paused(n: i64) -> Event {
        let queue = QueueName::parse(&format!("q{}", n % 3)).unwrap();
        Event { at: Millis(n), kind: EventKind::QueuePaused { queue, tenant: None } }
    }

    #[test]
    fn reading_on_from_the_last_id_gives_each_event_once() {
        let events = Events::empty(1_000);
        events.publish_next((0..100).map(paused).collect());
        let mut cursor = None;
        let mut seen = Vec::new();
        loop {
            let page = events.after(cursor, &EventFilter::default(), 7, Millis(9));
            cursor = page.events.last().map(|(id, _)| *id).or(cursor);
            seen.extend(page.events.into_iter().map(|(_, event)| event.at.0));
            if !page.has_more {
                break;
            }
        }
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
        events.publish_next(vec![paused(100)]);
        let page = events.after(cursor, &EventFilter::default(), 7, Millis(9));
        assert_eq!(page.events.len(), 1);
    }

    #[test]
    fn the_ring_is_bounded_and_filters_apply() {
        let events = Events::empty(10);
        events.publish_next((0..100).map(paused).collect());
        let all = events.after(None, &EventFilter::default(), 100, Millis(9));
        assert_eq!(all.events.first().map(|(_, e)| e.at.0), Some(90));
        assert!(all.gap, "the first 90 are gone");
        let filter = EventFilter { queues: vec!["q0".into()], ..EventFilter::default() };
        assert_eq!(events.after(None, &filter, 100, Millis(9)).events.len(), 4);
        let types = TypeFilter(vec!["job.enqueued".into()]);
        let filter = EventFilter { types, ..EventFilter::default() };
        assert!(events.after(None, &filter, 100, Millis(9)).events.is_empty());
    }

    #[test]
    fn long_errors_push_out_events_before_their_number_does() {
        let events = Events::empty(1_000_000);
        let queues = vec![QueueName::parse("q").unwrap(); 1_000];
        let worker = rota_model::WorkerId::parse("w").unwrap();
        let kind = EventKind::WorkerBeat { worker, active: 0, queues: queues.into() };
        let beat = Event { at: Millis(1), kind };
        (0..100).for_each(|_| events.publish_next(vec![beat.clone(); 100]));
        let kept = events.after(None, &EventFilter::default(), usize::MAX, Millis(9));
        assert!(kept.gap && kept.events.len() < 5_000, "{}", kept.events.len());
        assert!(!kept.events.is_empty());
    }

    #[test]
    fn the_newest_come_first_in_pages() {
        let events = Events::empty(1_000);
        events.publish_next((0..600).map(paused).collect());
        let filter = EventFilter { queues: vec!["q0".into()], ..EventFilter::default() };
        let (page, total) = events.newest(&filter, 2, 2);
        let times: Vec<i64> = page.iter().map(|(_, event)| event.at.0).collect();
        assert_eq!((times, total), (vec![591, 588], 200));
        let filter = EventFilter { since: Some(Millis(300)), ..filter };
        assert_eq!(events.newest(&filter, 0, 2).1, 100);
    }

    #[test]
    fn an_id_of_another_server_starts_over() {
        let other = Events::new(10, 0, IdKey(2));
        other.publish_next(vec![paused(1)]);
        let (id, _) = other.after(None, &EventFilter::default(), 1, Millis(9)).events.remove(0);
        let own = Events::empty(10);
        own.publish_next(vec![paused(2)]);
        assert_eq!(own.after(Some(id), &EventFilter::default(), 9, Millis(9)).events.len(), 1);
    }

    #[test]
    fn numbers_and_ids_go_on_after_a_restart() {
        let before = Events::empty(10);
        before.publish_next((0..3).map(paused).collect());
        let seen = before.after(None, &EventFilter::default(), 2, Millis(9)).cursor;
        // The log has lost the first event.
        let after = Events::new(10, 3, IdKey(1));
        after.publish(2, (1..3).map(paused).collect());
        after.publish_next(vec![paused(3)]);
        let page = after.after(seen, &EventFilter::default(), 9, Millis(9));
        let times: Vec<i64> = page.events.iter().map(|(_, event)| event.at.0).collect();
        assert_eq!((times, page.gap), (vec![2, 3], false));
        assert!(after.after(None, &EventFilter::default(), 9, Millis(9)).gap);
    }

    #[test]
    fn what_comes_before_a_gap_is_dropped() {
        let events = Events::empty(10);
        events.publish_next(vec![paused(0)]);
        events.publish(5, vec![paused(4)]);
        let page = events.after(None, &EventFilter::default(), 9, Millis(9));
        assert_eq!((page.events.len(), page.gap), (1, true));
        assert_eq!(events.next_number(), 6);
    }

    #[test]
    fn a_reader_is_told_when_events_behind_its_cursor_are_gone() {
        let events = Events::empty(10);
        events.publish_next((0..4).map(paused).collect());
        let filter = EventFilter { queues: vec!["q0".into()], ..EventFilter::default() };
        let first = events.after(None, &filter, 9, Millis(9));
        assert_eq!((first.events.len(), first.gap), (2, false));
        // What others do moves the cursor on, so that a reader who keeps up is told of no gap.
        events.publish_next((0..5).map(|n| paused(3 * n + 1)).collect());
        let second = events.after(first.cursor, &filter, 9, Millis(9));
        assert_eq!((second.events.len(), second.gap), (0, false));
        events.publish_next((0..10).map(|n| paused(3 * n + 1)).collect());
        assert!(!events.after(second.cursor, &filter, 9, Millis(9)).gap);
        assert!(events.after(first.cursor, &filter, 9, Millis(9)).gap);
        let over = events.after(first.cursor, &filter, 9, Millis(9)).cursor;
        assert!(!events.after(over, &filter, 9, Millis(9)).gap);
        // Nothing is known of what another server had.
        let new = Events::new(10, 0, IdKey(2));
        let page = new.after(over, &filter, 9, Millis(9));
        assert!(page.gap && !new.after(page.cursor, &filter, 9, Millis(9)).gap);
    }

    #[test]
    fn an_id_that_was_not_given_yet_is_unknown() {
        let events = Events::empty(10);
        events.publish_next(vec![paused(1)]);
        let given = events.id_of(1, Millis(1));
        assert_eq!(events.number_of(given), Some(1));
        assert_eq!(time_of(given), Millis(1));
        assert_eq!(events.number_of(events.id_of(2, Millis(1))), None);
        // A client that has seen only a part of an event resumes after the event before it.
        assert_eq!(events.number_of(events.id_of_part(1, Millis(1))), Some(0));
    }

    #[test]
    fn a_chunk_that_is_being_read_stays_as_it_is() {
        let events = Events::empty(1_000);
        events.publish_next((0..3).map(paused).collect());
        let look = events.look(2);
        events.publish_next((3..600).map(paused).collect());
        let chunk = look.chunk.expect("there are events");
        let read: Vec<u64> = chunk.from(look.from).map(|(number, _)| number).collect();
        assert_eq!((read, chunk.end()), (vec![2, 3], 4));
        let (mut from, mut seen) = (1, Vec::new());
        while let Some(chunk) = events.look(from).chunk {
            seen.extend(chunk.from(from).map(|(number, event)| (number, event.at.0)));
            from = chunk.end();
        }
        assert_eq!(seen, (0..600).map(|n| (n as u64 + 1, n)).collect::<Vec<_>>());
    }

    #[test]
    fn who_has_fallen_out_of_the_ring_is_set_to_the_oldest_event() {
        let events = Events::empty(10);
        events.publish_next((0..1_000).map(paused).collect());
        let look = events.look(5);
        assert_eq!(look.from, 991);
        assert_eq!(look.chunk.map(|chunk| chunk.from(look.from).count()), Some(10));
        assert!(events.look(1_001).chunk.is_none());
    }
}
