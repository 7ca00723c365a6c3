//! Counters that survive: rate windows, turns and a tenant's figures.
//!
//! They change with nearly every job, so they are not rows that are written each time. Each batch
//! has one entry with what it did to them. Meanwhile the things themselves are written out, a few
//! with each batch, those first that have waited longest; entries older than all that has not been
//! written out are of no use any more and go. What a start reads is bounded, and so is what a batch
//! writes.

use std::collections::{BTreeMap, VecDeque};

use rota_model::mutation::{Kind, Mutation};
use rota_model::{QueueName, Rate, TenantId};
use serde::{Deserialize, Serialize};

use crate::Engine;
use crate::limit::{LimitIx, Partition};
use crate::sched::{Tag, TurnIx};
use crate::tenant::{Tally, TenantIx, TenantState};

/// Entries that the journal may have, in all batches together.
const MOST_ENTRIES: usize = 400_000;
/// How many batches lie between two trims.
const TRIM_EVERY: u64 = 32;

#[derive(Default)]
pub(crate) struct Journal {
    tenants: BTreeMap<TenantIx, TenantDelta>,
    limits: BTreeMap<LimitIx, LimitDelta>,
    /// What has changed since it was written out, with the batch in which that began.
    dirty: VecDeque<(u64, Thing)>,
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
struct TenantDelta {
    tally: Tally,
    turns: Vec<TurnIx>,
}

#[derive(Default)]
struct LimitDelta {
    rates: Vec<Rate>,
    throttle: Option<Rate>,
    /// Monotonic.
    starts: Vec<(i64, u32)>,
}

/// One batch's entry, as it is kept on disk.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Wall-clock time.
    pub at: i64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tenants: BTreeMap<TenantId, TenantEntry>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, LimitEntry>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TenantEntry {
    #[serde(flatten)]
    pub tally: Tally,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<(QueueName, i32, Tag)>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LimitEntry {
    pub rates: Vec<Rate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Rate>,
    /// Wall-clock times and how many started.
    pub starts: Vec<(i64, u32)>,
}

impl Journal {
    pub fn tenant(&mut self, tenant: TenantIx, tally: Tally) {
        self.tenants.entry(tenant).or_default().tally.add(tally);
    }

    pub fn turn(&mut self, tenant: TenantIx, turn: TurnIx) {
        let turns = &mut self.tenants.entry(tenant).or_default().turns;
        if turns.last() != Some(&turn) && !turns.contains(&turn) {
            turns.push(turn);
        }
    }

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

    /// Changed in this batch or before, and not written out since.
    pub fn mark_tenant(&mut self, tenant: TenantIx) {
        self.dirty.push_back((self.number, Thing::Tenant(tenant)));
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

    pub fn mark_limit(&mut self, limit: LimitIx) {
        self.dirty.push_back((self.number, Thing::Limit(limit)));
    }
}

impl Engine {
    /// What the batch of this number must hold besides its mutations. To be called once for each
    /// batch, after its last command.
    pub fn seal(&mut self, number: u64, out: &mut Vec<Mutation>) {
        self.journal.number = number;
        let entry = self.take_entry();
        let entries = entry.tenants.len() + entry.limits.len();
        if entries > 0 {
            let json = serde_json::to_vec(&entry).expect("an entry is plain data");
            out.push(Mutation::Journal(json.into()));
        }
        let share = (entries * self.journal.dirty.len()).div_ceil(MOST_ENTRIES);
        for _ in 0..share {
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

    fn take_entry(&mut self) -> Entry {
        let offset = self.now.wall.0 - self.now.mono as i64;
        let mut entry = Entry { at: self.now.wall.0, ..Entry::default() };
        for (ix, delta) in std::mem::take(&mut self.journal.tenants) {
            if !std::mem::replace(&mut self.tenants.get_mut(ix).dirty, true) {
                self.journal.mark_tenant(ix);
            }
            let turns = delta.turns.iter().filter_map(|turn| self.turn_entry(*turn)).collect();
            let id = self.tenants.get(ix).id.clone();
            entry.tenants.insert(id, TenantEntry { tally: delta.tally, turns });
        }
        for (ix, delta) in std::mem::take(&mut self.journal.limits) {
            if !self.limits.exists(ix) {
                continue;
            }
            if !std::mem::replace(&mut self.limits.limit_mut(ix).dirty, true) {
                self.journal.mark_limit(ix);
            }
            let starts = delta.starts.iter().map(|&(at, n)| (at + offset, n)).collect();
            let LimitDelta { rates, throttle, .. } = delta;
            let name = self.limits.limit(ix).partition.name();
            entry.limits.insert(name, LimitEntry { rates, throttle, starts });
        }
        entry
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
            None => out.push(Mutation::Remove(Kind::LimitState, name.into())),
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

/// What a start does with the journal.
impl Engine {
    fn replay_tenant(&mut self, ix: TenantIx, done: &TenantEntry, at: i64, offset: i64) {
        let wall = rota_model::Millis(at);
        let tenant = self.tenants.get_mut(ix);
        tenant.counters.get_or_insert_default().add(done.tally, wall);
        if done.tally.enqueued > 0 {
            self.count_enqueued(ix, done.tally.enqueued, at - offset);
        }
        for (queue, level, tag) in &done.turns {
            self.remember_turn(ix, queue, *level, *tag);
        }
    }

    /// A turn's tag, as it was; it counts if the tenant has something to be served there.
    pub(crate) fn remember_turn(&mut self, ix: TenantIx, queue: &str, level: i32, tag: Tag) {
        let Some(shard) = self.queues.find(queue).and_then(|q| self.shards.find(q, ix)) else {
            return;
        };
        let turns = &self.shards.get(shard).turns;
        if let Some(&(_, turn)) = turns.iter().find(|(at, _)| *at == level) {
            self.turns.get_mut(turn).tag = tag;
        }
    }

    pub(crate) fn replay(&mut self, number: u64, entry: &Entry) {
        let offset = self.now.wall.0 - self.now.mono as i64;
        self.journal.number = self.journal.number.max(number);
        for (id, done) in &entry.tenants {
            let Some(ix) = self.tenants.find(id) else { continue };
            if self.journal.is_older(&self.tenants.get(ix).id, number) {
                continue;
            }
            self.replay_tenant(ix, done, entry.at, offset);
            if !std::mem::replace(&mut self.tenants.get_mut(ix).dirty, true) {
                self.journal.dirty.push_back((number, Thing::Tenant(ix)));
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
}
