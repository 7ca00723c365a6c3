//! The ring of recent events, in chunks, so that readers do not hold the lock while they read.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ahash::RandomState;
use rota_engine::{Event, EventKind};
use rota_model::{JobId, Millis, Seq};
use tokio::sync::Mutex;

/// Events are numbered through all batches, from one, so that there is a place before the first.
pub(super) struct Ring {
    chunks: VecDeque<Arc<Chunk>>,
    pub next: u64,
    capacity: usize,
    /// The oldest event that was not pushed out by the size of later ones.
    oldest: u64,
    /// What the chunks hold beyond the events themselves.
    bytes: usize,
}

/// Events that follow each other. Once a reader has it, it does not grow any more.
pub struct Chunk {
    first: u64,
    events: Vec<Event>,
    bytes: usize,
    /// Shared by all streams, so that each name is looked up once and not once for each of them.
    pub names: Mutex<Names>,
}

/// What events do not say about their jobs; `None` when it could not be found out.
pub type Names = HashMap<Seq, Option<Name>, RandomState>;

#[derive(Debug, Clone)]
pub struct Name {
    pub id: JobId,
    pub created: Option<Millis>,
    /// The trace that the job belongs to.
    pub trace: Option<Arc<str>>,
}

/// The most events of a chunk.
pub const CHUNK: usize = 256;
/// The most bytes of errors, lists of queues and reasons that events hold: longer ones push out older
/// events before there are as many as the ring has room for.
const MAX_BYTES: usize = 64 << 20;

impl Ring {
    /// An empty one, in which `next` will be the first event.
    pub fn new(capacity: usize, next: u64) -> Self {
        Self { chunks: VecDeque::new(), next, capacity, oldest: next, bytes: 0 }
    }

    /// Adds events, of which the first has the number `first`. What comes before a gap is dropped.
    pub fn push(&mut self, first: u64, events: Vec<Event>) {
        if first != self.next {
            *self = Self::new(self.capacity, first);
        }
        let mut rest = events.into_iter();
        while rest.len() > 0 {
            let next = self.next;
            let chunk = self.open(next, rest.len());
            let room = CHUNK - chunk.events.len();
            let before = chunk.bytes;
            for event in rest.by_ref().take(room) {
                chunk.bytes += bytes_beyond(&event.kind);
                chunk.events.push(event);
            }
            let (end, added) = (chunk.end(), chunk.bytes - before);
            (self.next, self.bytes) = (end, self.bytes + added);
        }
        let too_old = |ring: &Self, chunk: &Chunk| chunk.end() <= ring.first();
        let too_large = |ring: &Self| ring.bytes > MAX_BYTES && ring.chunks.len() > 1;
        while self.chunks.front().is_some_and(|chunk| too_old(self, chunk) || too_large(self)) {
            let Some(chunk) = self.chunks.pop_front() else { break };
            (self.oldest, self.bytes) = (chunk.end(), self.bytes - chunk.bytes);
        }
    }

    /// The number of the oldest event that can be read.
    pub fn first(&self) -> u64 {
        self.next.saturating_sub(self.capacity as u64).max(self.oldest)
    }

    /// The chunk with this event, which must not have left the ring.
    pub fn chunk(&self, number: u64) -> Option<Arc<Chunk>> {
        let place = self.chunks.partition_point(|chunk| chunk.end() <= number);
        self.chunks.get(place).cloned()
    }

    pub fn chunks(&self) -> Vec<Arc<Chunk>> {
        self.chunks.iter().cloned().collect()
    }

    /// The last chunk, or a new one if that is full or being read.
    fn open(&mut self, first: u64, expected: usize) -> &mut Chunk {
        let last = self.chunks.back_mut().and_then(Arc::get_mut);
        if last.is_none_or(|chunk| chunk.events.len() >= CHUNK) {
            let events = Vec::with_capacity(expected.min(CHUNK));
            let chunk = Chunk { first, events, bytes: 0, names: Mutex::default() };
            self.chunks.push_back(Arc::new(chunk));
        }
        let last = self.chunks.back_mut().and_then(Arc::get_mut);
        last.expect("only under the lock can a chunk be shared")
    }
}

impl Chunk {
    /// Its events from this number on, numbered.
    pub fn from(&self, number: u64) -> impl Iterator<Item = (u64, &Event)> {
        let skip = number.saturating_sub(self.first) as usize;
        (self.first..).zip(&self.events).skip(skip)
    }

    /// The number of its first event.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number behind its last event.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }
}

/// What an event holds beyond its own size, roughly. What it shares with jobs or workers that are still
/// there counts too.
fn bytes_beyond(kind: &EventKind) -> usize {
    match kind {
        EventKind::Failed { error, .. }
        | EventKind::Retrying { error, .. }
        | EventKind::Discarded { error, .. } => error.len(),
        EventKind::WorkerStarted { queues, .. } | EventKind::WorkerBeat { queues, .. } => {
            queues.iter().map(|queue| queue.len() + size_of_val(queue)).sum()
        }
        EventKind::LimitAdjusted { reason, .. } => reason.len(),
        _ => 0,
    }
}
