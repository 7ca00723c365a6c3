//! The lines in which streams wait, one for each tenant and one for operators.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use ahash::RandomState;
use rota_model::Seq;
use tokio::sync::oneshot;

use super::StreamTurn;
use crate::runtime::events::{About, Chunk, ends_job};

/// Whose stream it is; `None` for an operator, who may see everybody's events.
pub(super) type Owner = Option<Arc<str>>;

type Sender = oneshot::Sender<StreamTurn>;

pub(super) struct Lines {
    next_ticket: u64,
    /// Events before this number were looked at.
    scanned: u64,
    /// Streams that have seen everything that is for them, by ticket.
    idle: HashMap<Owner, BTreeMap<u64, Sender>, RandomState>,
    ready: ReadyLines,
    /// StreamTurns under way.
    taken: usize,
    /// Who waits for the end of a job.
    ends: HashMap<Seq, BTreeMap<u64, oneshot::Sender<()>>, RandomState>,
}

/// Streams with something to read. Owners take turns; the streams of one are in order.
#[derive(Default)]
pub(super) struct ReadyLines {
    lines: HashMap<Owner, BTreeMap<u64, ReadyStream>, RandomState>,
    order: VecDeque<Owner>,
}

pub(super) struct ReadyStream {
    pub sender: Sender,
    /// See [`StreamTurn::from`].
    pub from: u64,
}

impl Lines {
    pub fn new(scanned: u64) -> Self {
        Self {
            next_ticket: 0,
            scanned,
            idle: HashMap::default(),
            ready: ReadyLines::default(),
            taken: 0,
            ends: HashMap::default(),
        }
    }

    /// Adds a stream that has seen all events before `from`. Returns its ticket, and whether there is
    /// something for it to read already.
    pub fn add(&mut self, owner: Owner, from: u64, sender: Sender) -> (u64, bool) {
        let ticket = self.new_ticket();
        let is_ready = from < self.scanned;
        if is_ready {
            self.ready.add(owner, ticket, ReadyStream { sender, from: 0 });
        } else {
            self.idle.entry(owner).or_default().insert(ticket, sender);
        }
        (ticket, is_ready)
    }

    pub fn remove(&mut self, owner: &Owner, ticket: u64) {
        if let Some(line) = self.idle.get_mut(owner) {
            line.remove(&ticket);
            if line.is_empty() {
                self.idle.remove(owner);
            }
        }
        self.ready.remove(owner, ticket);
    }

    pub fn add_end(&mut self, seq: Seq, sender: oneshot::Sender<()>) -> u64 {
        let ticket = self.new_ticket();
        self.ends.entry(seq).or_default().insert(ticket, sender);
        ticket
    }

    pub fn remove_end(&mut self, seq: Seq, ticket: u64) {
        let Some(line) = self.ends.get_mut(&seq) else { return };
        line.remove(&ticket);
        if line.is_empty() {
            self.ends.remove(&seq);
        }
    }

    pub fn scanned(&self) -> u64 {
        self.scanned
    }

    /// See [`super::Waiting::passed`].
    pub fn passed(&self, owner: &Owner, ticket: u64) -> Option<u64> {
        let is_idle = self.idle.get(owner).is_some_and(|line| line.contains_key(&ticket));
        is_idle.then_some(self.scanned)
    }

    /// Whether anybody would be woken by an event.
    pub fn anyone_waits(&self) -> bool {
        !self.idle.is_empty() || !self.ends.is_empty()
    }

    /// Takes note of events: the streams that they may be for have something to read.
    pub fn scan(&mut self, chunk: &Chunk) {
        let mut first: HashMap<&str, u64, RandomState> = HashMap::default();
        let (from, mut any) = (self.scanned, None);
        for (number, event) in chunk.from(from) {
            any = any.or(Some(number));
            let about = About::of(&event.kind);
            if let Some(tenant) = about.tenant {
                first.entry(tenant).or_insert(number);
            }
            if let Some(job) = about.job.filter(|_| ends_job(&event.kind))
                && let Some(waiting) = self.ends.remove(&job.seq)
            {
                wake(waiting);
            }
        }
        if let Some(number) = any {
            self.make_ready(&None, number);
        }
        for (tenant, number) in first {
            self.make_ready(&Some(Arc::from(tenant)), number);
        }
        self.scanned = self.scanned.max(chunk.end());
    }

    /// Goes on at this event, without having looked at all before it, so any of them may be for anybody.
    pub fn skip_to(&mut self, number: u64) {
        let owners: Vec<Owner> = self.idle.keys().cloned().collect();
        owners.iter().for_each(|owner| self.make_ready(owner, 0));
        std::mem::take(&mut self.ends).into_values().for_each(wake);
        self.scanned = number;
    }

    /// Goes on at this event; nobody waits for those before it.
    pub fn pass_to(&mut self, number: u64) {
        debug_assert!(!self.anyone_waits());
        self.scanned = number;
    }

    pub fn has_ready(&self) -> bool {
        !self.ready.order.is_empty()
    }

    /// The streams of one round, in line as they are now.
    pub fn take_ready(&mut self) -> ReadyLines {
        std::mem::take(&mut self.ready)
    }

    pub fn begin_turn(&mut self) {
        self.taken += 1;
    }

    /// Returns true if it was the last turn under way.
    pub fn end_turn(&mut self) -> bool {
        self.taken -= 1;
        self.taken == 0
    }

    pub fn turns_under_way(&self) -> usize {
        self.taken
    }

    fn make_ready(&mut self, owner: &Owner, from: u64) {
        let Some(line) = self.idle.remove(owner) else { return };
        for (ticket, sender) in line {
            self.ready.add(owner.clone(), ticket, ReadyStream { sender, from });
        }
    }

    fn new_ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket
    }
}

impl ReadyLines {
    /// The next stream: the first of the owner whose turn it is.
    pub fn next(&mut self) -> Option<ReadyStream> {
        loop {
            let owner = self.order.pop_front()?;
            let Some(line) = self.lines.get_mut(&owner) else { continue };
            let stream = line.pop_first();
            if line.is_empty() {
                self.lines.remove(&owner);
            } else {
                self.order.push_back(owner);
            }
            if let Some((_, stream)) = stream {
                return Some(stream);
            }
        }
    }

    fn add(&mut self, owner: Owner, ticket: u64, stream: ReadyStream) {
        let line = self.lines.entry(owner.clone()).or_default();
        if line.is_empty() {
            self.order.push_back(owner);
        }
        line.insert(ticket, stream);
    }

    fn remove(&mut self, owner: &Owner, ticket: u64) {
        let Some(line) = self.lines.get_mut(owner) else { return };
        if line.remove(&ticket).is_some() && line.is_empty() {
            self.lines.remove(owner);
            self.order.retain(|other| other != owner);
        }
    }
}

/// Fails for those who have gone.
fn wake(waiting: BTreeMap<u64, oneshot::Sender<()>>) {
    for sender in waiting.into_values() {
        let _ = sender.send(());
    }
}
