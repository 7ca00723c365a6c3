//! Counters that survive: rate windows, turns and a tenant's figures.
//!
//! They change with nearly every job, so they are not rows that are written each time. Each batch
//! has one entry with what it did to them. Meanwhile the things themselves are written out, a few
//! with each batch, those first that have waited longest; entries older than all that has not been
//! written out are of no use any more and go. What a start reads is bounded, and so is what a batch
//! writes.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use rota_model::mutation::{Kind, Mutation};
use rota_model::{Millis, QueueName, Rate, TenantId};
use serde::{Deserialize, Serialize};

use crate::Engine;
use crate::limit::{LimitIx, Partition};
use crate::sched::{Tag, TurnIx};
use crate::tenant::{Tally, TenantIx, TenantState};

/// For each thing that changes the journal may have so many entries, even if that is more than is
/// configured: otherwise things would be written out nearly as often as they change.
const ENTRIES_PER_THING: usize = 4;
/// How many batches lie between two trims.
const TRIM_EVERY: u64 = 32;

#[derive(Default)]
pub(crate) struct Journal {
    /// Tenants that did something in the batch under way, each once.
    pub tenants: Vec<TenantIx>,
    /// Turns that were served in it.
    turns: Vec<TurnIx>,
    limits: BTreeMap<LimitIx, LimitDelta>,
    /// What has changed since it was written out, with the batch in which that began.
    dirty: VecDeque<(u64, Thing)>,
    /// What of a thing is still to be written out, in parts of the entries that there may be.
    owed: usize,
    trimmed: u64,
    /// The last batch.
    pub number: u64,
    /// While a start reads: up to which batch what was written out is complete. A limit's name has
    /// a slash in it, a tenant's has none.
    as_of: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Copy)]
enum Thing {
    Tenant(TenantIx),
    Limit(LimitIx),
}

#[derive(Default)]
struct LimitDelta {
    rates: Vec<Rate>,
    throttle: Option<Rate>,
    /// Monotonic.
    starts: Vec<(i64, u32)>,
}

/// One batch's entry, as it is kept on disk.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Entry {
    /// Wall-clock time.
    at: i64,
    /// Jobs enqueued, started, completed and failed.
    tenants: Vec<(TenantId, u32, u32, u32, u32)>,
    turns: Vec<(TenantId, QueueName, i32, Tag)>,
    limits: Vec<(String, LimitEntry)>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct LimitEntry {
    rates: Vec<Rate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    throttle: Option<Rate>,
    /// Wall-clock times and how many started.
    starts: Vec<(i64, u32)>,
}

impl Journal {
    pub fn started(&mut self, limit: LimitIx, rates: &[Rate], throttle: Option<Rate>, at: i64) {
        let delta = self.limits.entry(limit).or_default();
        for rate in rates {
            if !delta.rates.contains(rate) {
                delta.rates.push(*rate);
            }
        }
        delta.throttle = throttle.or(delta.throttle);
        match delta.starts.last_mut() {
            Some((last, n)) if *last == at => *n += 1,
            _ => delta.starts.push((at, 1)),
        }
    }

    /// How many things are to be written out, now that so many entries were added: as they come
    /// in, so must older ones become useless.
    fn owes(&mut self, entries: usize, fewest: usize) -> usize {
        let most = fewest.max(ENTRIES_PER_THING * self.dirty.len());
        self.owed += entries * self.dirty.len();
        let things = self.owed / most;
        self.owed %= most;
        things
    }

    /// What was written out under this name knows all batches up to this one.
    pub fn complete_to(&mut self, name: &str, number: u64) {
        self.as_of.insert(name.to_owned(), number);
    }

    fn is_older(&self, name: &str, number: u64) -> bool {
        self.as_of.get(name).is_some_and(|as_of| number <= *as_of)
    }

    /// A start has read everything.
    pub fn end_replay(&mut self, number: u64) {
        self.as_of.clear();
        (self.number, self.trimmed) = (number, number);
        self.dirty.make_contiguous().sort_by_key(|(first, _)| *first);
    }
}

impl Engine {
    /// What the batch of this number must hold besides its mutations. To be called once for each
    /// batch, after its last command.
    pub fn seal(&mut self, number: u64, out: &mut Vec<Mutation>) {
        self.journal.number = number;
        let entries = self.journal.tenants.len() + self.journal.limits.len();
        if entries > 0 {
            let entry = self.write_entry();
            out.push(Mutation::Journal(entry.into()));
        }
        for _ in 0..self.journal.owes(entries, self.config.journal_entries) {
            self.write_one_out(out);
        }
        if number >= self.journal.trimmed + TRIM_EVERY {
            let oldest = self.journal.dirty.front().map_or(number, |(first, _)| *first);
            if oldest > self.journal.trimmed {
                out.push(Mutation::TrimJournal(oldest));
            }
            self.journal.trimmed = number;
        }
    }

    /// A turn's job was handed out.
    pub(crate) fn note_served(&mut self, turn: TurnIx) {
        if !std::mem::replace(&mut self.turns.get_mut(turn).served, true) {
            self.journal.turns.push(turn);
        }
    }

    /// JSON that [`Entry`] reads. Written by hand: it is made for every batch, and the names in it
    /// have no character that would have to be escaped.
    fn write_entry(&mut self) -> Vec<u8> {
        let mut out = String::with_capacity(64 * self.journal.tenants.len() + 128);
        let _ = write!(out, r#"{{"at":{},"tenants":["#, self.now.wall.0);
        for ix in std::mem::take(&mut self.journal.tenants) {
            let tenant = self.tenants.get_mut(ix);
            if !std::mem::replace(&mut tenant.dirty, true) {
                self.journal.dirty.push_back((self.journal.number, Thing::Tenant(ix)));
            }
            tenant.did_something = false;
            let Tally { enqueued, started, completed, failed } = std::mem::take(&mut tenant.did);
            let id = &tenant.id;
            let _ = write!(out, r#"["{id}",{enqueued},{started},{completed},{failed}],"#);
        }
        end_list(&mut out, r#""turns":["#);
        for turn in std::mem::take(&mut self.journal.turns) {
            let Some(is) = self.turns.find_mut(turn) else { continue };
            is.served = false;
            let tenant = &self.tenants.get(self.shards.get(is.shard).tenant).id;
            let (queue, level, tag) = (&self.queues.get(is.queue).name, is.level, is.tag.0);
            let _ = write!(out, r#"["{tenant}","{queue}",{level},{tag}],"#);
        }
        end_list(&mut out, r#""limits":["#);
        self.write_limits(&mut out);
        if out.ends_with(',') {
            out.pop();
        }
        out.push_str("]}");
        out.into_bytes()
    }

    fn write_limits(&mut self, out: &mut String) {
        let offset = self.now.wall.0 - self.now.mono as i64;
        for (ix, delta) in std::mem::take(&mut self.journal.limits) {
            if !self.limits.exists(ix) {
                continue;
            }
            if !std::mem::replace(&mut self.limits.limit_mut(ix).dirty, true) {
                self.journal.dirty.push_back((self.journal.number, Thing::Limit(ix)));
            }
            let starts = delta.starts.iter().map(|&(at, n)| (at + offset, n)).collect();
            let LimitDelta { rates, throttle, .. } = delta;
            let entry = LimitEntry { rates, throttle, starts };
            let entry = serde_json::to_string(&entry).expect("an entry is plain data");
            let _ = write!(out, r#"["{}",{entry}],"#, self.limits.limit(ix).partition.name());
        }
    }

    fn turn_entry(&self, turn: TurnIx) -> Option<(QueueName, i32, Tag)> {
        let is = self.turns.find(turn)?;
        Some((self.queues.get(is.queue).name.clone(), is.level, is.tag))
    }

    fn write_one_out(&mut self, out: &mut Vec<Mutation>) {
        let Some((_, thing)) = self.journal.dirty.pop_front() else { return };
        match thing {
            Thing::Tenant(ix) => self.write_tenant_out(ix, out),
            Thing::Limit(ix) => self.write_limit_out(ix, out),
        }
    }

    fn write_tenant_out(&mut self, ix: TenantIx, out: &mut Vec<Mutation>) {
        self.tenants.get_mut(ix).dirty = false;
        let tenant = self.tenants.get(ix);
        if self.tenants.find(&tenant.id) != Some(ix) {
            // It was deleted meanwhile; another may have its name now.
            return;
        }
        let offset = self.now.wall.0 - self.now.mono as i64;
        let turns = tenant.shards.iter().flat_map(|shard| &self.shards.get(*shard).turns);
        let enqueued = tenant.enqueued.iter().flat_map(|window| window.starts());
        let state = TenantState {
            as_of: self.journal.number,
            counters: tenant.counters.as_deref().cloned().unwrap_or_default(),
            turns: turns.filter_map(|(_, turn)| self.turn_entry(*turn)).collect(),
            enqueued: enqueued.map(|(at, n)| (at + offset, n)).collect(),
        };
        out.push(put(Kind::TenantState, &tenant.id, &state));
    }

    fn write_limit_out(&mut self, ix: LimitIx, out: &mut Vec<Mutation>) {
        if !self.limits.exists(ix) {
            return;
        }
        let (number, now) = (self.journal.number, self.now);
        let limit = self.limits.limit_mut(ix);
        limit.dirty = false;
        let name = limit.partition.name();
        match limit.state(number, now) {
            Some(state) => out.push(put(Kind::LimitState, &name, &state)),
            None => {
                out.push(Mutation::Remove(Kind::LimitState, name.into()));
                self.sweep_limit(ix);
            }
        }
    }

    /// Before a limit is forgotten: nothing of it may come back.
    pub(crate) fn forget_limit(&mut self, ix: LimitIx) {
        let name = self.limits.limit(ix).partition.name();
        self.journal.limits.remove(&ix);
        self.out.mutations.push(Mutation::Remove(Kind::LimitState, name.into()));
        self.limits.forget(ix);
    }
}

fn put(kind: Kind, name: &str, row: &impl Serialize) -> Mutation {
    let json = serde_json::to_vec(row).expect("a state is plain data");
    Mutation::Put(kind, name.into(), json.into())
}

/// Ends one list of an entry and begins the next.
fn end_list(out: &mut String, next: &str) {
    if out.ends_with(',') {
        out.pop();
    }
    out.push_str("],");
    out.push_str(next);
}

/// What a start does with the journal.
impl Engine {
    pub(crate) fn replay(&mut self, number: u64, entry: &Entry) {
        let offset = self.now.wall.0 - self.now.mono as i64;
        for &(ref id, enqueued, started, completed, failed) in &entry.tenants {
            let Some(ix) = self.tenants.find(id) else { continue };
            // There may have been another of this name before.
            let came_later = Millis(entry.at) < self.tenants.get(ix).row.created;
            if came_later || self.journal.is_older(id, number) {
                continue;
            }
            let tally = Tally { enqueued, started, completed, failed };
            let tenant = self.tenants.get_mut(ix);
            tenant.counters.get_or_insert_default().add(tally, Millis(entry.at));
            if !std::mem::replace(&mut tenant.dirty, true) {
                self.journal.dirty.push_back((number, Thing::Tenant(ix)));
            }
            if enqueued > 0 {
                self.count_enqueued(ix, enqueued, entry.at - offset);
            }
        }
        for (id, queue, level, tag) in &entry.turns {
            if let Some(ix) = self.tenants.find(id).filter(|_| !self.journal.is_older(id, number)) {
                self.remember_turn(ix, queue, *level, *tag);
            }
        }
        for (name, done) in &entry.limits {
            let Some(partition) = Partition::parse(name) else { continue };
            if self.journal.is_older(name, number) {
                continue;
            }
            let ix = self.limits.get_or_make(&partition);
            let limit = self.limits.limit_mut(ix);
            for &(at, n) in &done.starts {
                limit.replay(at - offset, n, &done.rates, done.throttle);
            }
            if !std::mem::replace(&mut limit.dirty, true) {
                self.journal.dirty.push_back((number, Thing::Limit(ix)));
            }
        }
    }

    /// A turn's tag, as it was; it counts if the tenant has something to be served there.
    pub(crate) fn remember_turn(&mut self, ix: TenantIx, queue: &str, level: i32, tag: Tag) {
        let Some(shard) = self.queues.find(queue).and_then(|q| self.shards.find(q, ix)) else {
            return;
        };
        let turns = &self.shards.get(shard).turns;
        if let Some(&(_, turn)) = turns.iter().find(|(at, _)| *at == level) {
            let is = self.turns.get_mut(turn);
            (is.tag, is.since) = (tag, tag);
        }
    }
}
