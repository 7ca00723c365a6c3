//! The journal: how counters that change with every job survive a restart.
//!
//! Rate windows, tenants' tags, rotations, dispatches, minutes and tenants' figures change too
//! often to be written as rows each time. Instead, each batch appends one entry with its changes.
//! Besides, each batch flushes a few counters (writes them as rows), longest unflushed first;
//! entries older than every unflushed counter are deleted. So a restart reads a bounded journal,
//! and a batch writes a bounded amount.

mod dispatches;
mod flush;
mod minutes;
mod replay;
mod rotations;
mod text;
mod usage;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

use rota_model::mutation::{Mutation, RowKind};
use rota_model::{LimitNumbers, QueueName, Rate, TenantId};
use serde::{Deserialize, Serialize};

use crate::Engine;
use crate::queue::QueueIx;
use crate::scheduler::limits::LimitIx;
use crate::scheduler::{Owner, RotationKey, Tag};
use crate::tenant::{Tally, TenantIx};

use dispatches::DispatchJournal;
pub(crate) use dispatches::{DispatchState, Dispatcher};
use minutes::{MinuteEntry, MinuteJournal};
use rotations::JournaledRotation;
pub(crate) use rotations::{RotationState, SetState};
use text::{begin_item, end_item, end_list, push_number};
pub use usage::UnwrittenUsage;
use usage::{TenantDelta, Unwritten};

/// The journal may hold this many entries per dirty counter, even beyond the configured size;
/// otherwise counters would be flushed nearly as often as they change.
const ENTRIES_PER_COUNTER: usize = 4;
/// Batches between two trims of the journal.
const TRIM_EVERY: u64 = 32;

#[derive(Default)]
pub(crate) struct Journal {
    /// What tenants did in the current batch.
    tenants: Vec<TenantDelta>,
    pub unwritten: Unwritten,
    limits: BTreeMap<LimitIx, LimitDelta>,
    /// Limits with a start that was undone in the current batch. They are flushed with it, because
    /// no entry can revoke an older one.
    undone: BTreeSet<LimitIx>,
    pub dispatches: DispatchJournal,
    pub minutes: MinuteJournal,
    /// Counters that changed since they were flushed, with the number of the first batch that
    /// changed each.
    dirty: VecDeque<(u64, Counter)>,
    dirty_limits: BTreeSet<LimitIx>,
    /// The fraction of a counter still to be flushed, in units of 1 / the maximum number of
    /// entries.
    owed: usize,
    trimmed: u64,
    /// The number of the last batch.
    pub number: u64,
    /// Rotations as of the last batch that changed them.
    rotations: Vec<JournaledRotation>,
    rotation_indexes: BTreeMap<RotationKey, usize>,
    /// Indexes of `rotations` that are free.
    free_rotations: Vec<usize>,
    /// During a restart: the last batch that each flushed row includes, by name. A limit's name
    /// contains a slash, a tenant's does not.
    as_of: BTreeMap<String, u64>,
}

/// A counter that is journaled and flushed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Counter {
    Tenant(TenantIx),
    Limit(LimitIx),
    /// A rotation, by its index in `Journal::rotations`.
    Rotation(usize),
    /// Dispatches of the last minute.
    Dispatches(Dispatcher),
    /// The current minute's statistics of a queue, or of all together.
    Minute(Option<QueueIx>),
}

/// Starts of a limit in the current batch, and the rates they are counted for.
#[derive(Default)]
struct LimitDelta {
    rates: Vec<Rate>,
    throttle: Option<Rate>,
    /// Times of the limits' clock, and starts at each.
    starts: Vec<(i64, u32)>,
}

/// One batch's entry, as stored.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Entry {
    /// Wall-clock time in ms.
    at: i64,
    #[serde(default, rename = "did")]
    tenant_deltas: Vec<TenantEntry>,
    /// Written by older versions instead: jobs enqueued, started, completed and failed.
    #[serde(default)]
    tenants: Vec<(TenantId, u32, i32, u32, u32)>,
    turns: Vec<(TenantId, QueueName, i32, Tag)>,
    limits: Vec<(String, LimitEntry)>,
    /// Written by older versions: jobs that tenants' own workers started.
    #[serde(default)]
    own: Vec<(TenantId, i32)>,
    /// Tags in shared accounts, by rotation.
    #[serde(default)]
    shared_turns: Vec<(TenantId, String, i32, Tag)>,
    #[serde(default)]
    rotations: Vec<(String, RotationState)>,
    /// By dispatcher: jobs handed out, how many of them have a known wait, and the sum of these
    /// waits in ms.
    #[serde(default)]
    dispatches: Vec<(String, i32, u32, u64)>,
    /// Queues that were deleted. The other lists are about queues created after that.
    #[serde(default)]
    deleted: Vec<String>,
    /// By queue: what was added to a minute's statistics.
    #[serde(default)]
    minutes: Vec<MinuteEntry>,
}

/// A tenant; jobs enqueued, started, completed, failed, started by its own workers, and discarded;
/// run time in ms; bytes accepted.
#[derive(Debug, Deserialize)]
struct TenantEntry(TenantId, u32, i32, u32, u32, i32, u32, u64, u64);

#[derive(Debug, Default, Serialize, Deserialize)]
struct LimitEntry {
    rates: Vec<Rate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    throttle: Option<Rate>,
    /// Wall-clock times in ms, and starts at each.
    starts: Vec<(i64, u32)>,
}

impl Journal {
    pub fn record_start(&mut self, limit: LimitIx, numbers: LimitNumbers, at: i64) {
        let delta = self.limits.entry(limit).or_default();
        for rate in [numbers.rate, numbers.throttle].into_iter().flatten() {
            if !delta.rates.contains(&rate) {
                delta.rates.push(rate);
            }
        }
        delta.throttle = numbers.throttle.or(delta.throttle);
        match delta.starts.last_mut() {
            Some((last, n)) if *last == at => *n += 1,
            _ => delta.starts.push((at, 1)),
        }
    }

    pub fn record_undone_start(&mut self, limit: LimitIx) {
        self.undone.insert(limit);
    }

    fn mark_limit_dirty(&mut self, limit: LimitIx, number: u64) {
        if self.dirty_limits.insert(limit) {
            self.dirty.push_back((number, Counter::Limit(limit)));
        }
    }

    /// How many counters to flush after `entries` were added, so that old entries become deletable
    /// as fast as new ones arrive.
    fn counters_to_flush(&mut self, entries: usize, fewest: usize) -> usize {
        let most = fewest.max(ENTRIES_PER_COUNTER * self.dirty.len());
        self.owed += entries * self.dirty.len();
        let counters = self.owed / most;
        self.owed %= most;
        counters
    }

    /// The row of this name includes all batches up to this one.
    pub fn set_flushed_to(&mut self, name: &str, number: u64) {
        self.as_of.insert(name.to_owned(), number);
    }

    fn is_flushed(&self, name: &str, number: u64) -> bool {
        self.as_of.get(name).is_some_and(|as_of| number <= *as_of)
    }

    /// A restart has replayed all entries.
    pub fn end_replay(&mut self, number: u64) {
        self.as_of.clear();
        (self.number, self.trimmed) = (number, number);
        self.sort_dirty();
    }

    fn sort_dirty(&mut self) {
        self.dirty.make_contiguous().sort_by_key(|(first, _)| *first);
    }
}

impl Engine {
    /// Adds the journal entry and flushed rows to a batch. Must be called once for each batch,
    /// after its last command.
    pub fn seal(&mut self, number: u64, out: &mut Vec<Mutation>) {
        self.journal.number = number;
        let Journal { tenants, limits, dispatches, minutes, .. } = &self.journal;
        let entries = tenants.len() + limits.len() + dispatches.batch.len() + minutes.len();
        if entries > 0 || self.scheduler.has_changed_tags() {
            let entry = self.write_entry();
            out.push(Mutation::Journal(entry.into()));
        }
        for limit in std::mem::take(&mut self.journal.undone) {
            self.write_undone(limit, out);
        }
        self.write_dispatches_anew(out);
        for _ in 0..self.journal.counters_to_flush(entries, self.config.journal_entries) {
            self.flush_one(out);
        }
        self.write_past_usage(out);
        self.drop_flushed();
        if number >= self.journal.trimmed + TRIM_EVERY {
            let oldest = self.journal.dirty.front().map_or(number, |(first, _)| *first);
            if oldest > self.journal.trimmed {
                out.push(Mutation::TrimJournal(oldest));
            }
            self.journal.trimmed = number;
        }
    }

    /// The entry as JSON, in the format of [`Entry`]. Written by hand for speed; names in it never
    /// need escaping.
    fn write_entry(&mut self) -> Vec<u8> {
        let mut out = String::with_capacity(64 * self.journal.tenants.len() + 128);
        let _ = write!(out, r#"{{"at":{},"did":["#, self.now.wall.0);
        let mut all = std::mem::take(&mut self.journal.tenants);
        for mut delta in all.drain(..) {
            self.count_tenant_delta(&mut delta);
            self.mark_tenant_dirty(delta.tenant, self.journal.number);
            let tenant = self.tenants.get_mut(delta.tenant);
            tenant.delta_slot = 0;
            let Tally { enqueued, started, completed, failed, own } = delta.tally;
            begin_item(&mut out, &[&tenant.id]);
            push_number(&mut out, enqueued);
            push_number(&mut out, started);
            push_number(&mut out, completed);
            push_number(&mut out, failed);
            push_number(&mut out, own);
            push_number(&mut out, delta.discarded);
            push_number(&mut out, delta.run_ms);
            push_number(&mut out, delta.bytes);
            end_item(&mut out);
        }
        // Reuse the memory for the next batch.
        self.journal.tenants = all;
        end_list(&mut out, r#""turns":["#);
        let mut shared = String::new();
        for changed in self.scheduler.take_changed_tags() {
            self.mark_tenant_dirty(changed.tenant, self.journal.number);
            let tenant = &self.tenants.get(changed.tenant).id;
            let (level, tag) = (changed.level, changed.tag.0);
            match self.scheduler.owner(changed.account) {
                Owner::Queue(queue) => {
                    let queue = &self.queues.get(*queue).name;
                    begin_item(&mut out, &[tenant, queue]);
                    push_number(&mut out, level);
                    push_number(&mut out, tag);
                    end_item(&mut out);
                }
                Owner::Shared(key) => {
                    let name = key.name();
                    let _ = write!(shared, r#"["{tenant}","{name}",{level},{tag}],"#);
                }
            }
        }
        end_list(&mut out, r#""limits":["#);
        self.write_limits(&mut out);
        if !shared.is_empty() {
            end_list(&mut out, r#""shared_turns":["#);
            out.push_str(&shared);
        }
        self.write_minutes(&mut out);
        self.write_dispatches(&mut out);
        self.write_rotations(&mut out);
        if out.ends_with(',') {
            out.pop();
        }
        out.push_str("]}");
        out.into_bytes()
    }

    fn write_limits(&mut self, out: &mut String) {
        let now = self.scheduler.now();
        let offset = now.wall.0 - now.mono as i64;
        for (ix, delta) in std::mem::take(&mut self.journal.limits) {
            let limits = self.scheduler.limits();
            if !limits.exists(ix) {
                continue;
            }
            self.journal.mark_limit_dirty(ix, self.journal.number);
            let starts = delta.starts.iter().map(|&(at, n)| (at + offset, n)).collect();
            let LimitDelta { rates, throttle, .. } = delta;
            let entry = LimitEntry { rates, throttle, starts };
            let entry = serde_json::to_string(&entry).expect("an entry is plain data");
            let _ = write!(out, r#"["{}",{entry}],"#, limits.limit(ix).partition.name());
        }
    }

    /// Forgets a limit, and removes its row and pending changes so that nothing of it comes back.
    pub(crate) fn forget_limit(&mut self, ix: LimitIx) {
        let name = self.scheduler.limits().limit(ix).partition.name();
        self.journal.limits.remove(&ix);
        self.journal.undone.remove(&ix);
        self.out.mutations.push(Mutation::Remove(RowKind::LimitState, name.into()));
        self.scheduler.forget_limit(ix);
        self.limit_watch.forget(ix);
    }
}

fn put(kind: RowKind, name: &str, row: &impl Serialize) -> Mutation {
    let json = serde_json::to_vec(row).expect("a state is plain data");
    Mutation::Put(kind, name.into(), json.into())
}
