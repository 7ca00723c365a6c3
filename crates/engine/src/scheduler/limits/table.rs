//! The table of all limits and gates, with their timers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use ahash::RandomState;
use rota_model::{LimitKey, LimitNumbers, Millis, OnLimit};

use super::{Bucket, ClosedNotice, Limit, Opening, Partition};
use crate::Now;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LimitIx(pub u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GateIx(pub u32);

/// A limit with one set of numbers.
pub(crate) struct Gate {
    pub limit: LimitIx,
    pub numbers: LimitNumbers,
    /// Waiting jobs that must pass the gate.
    pub available: u64,
    /// Classes, queues and types whose jobs must pass the gate, and groups that stand at it.
    users: u32,
    /// What the first of them does with jobs that may not start.
    pub on_limit: Option<OnLimit>,
    /// For the gate of a whole queue: set while `LimitExceeded` was reported and `LimitReleased` was
    /// not.
    pub notified: Option<ClosedNotice>,
}

/// All limits and gates, with the timers of limits.
pub(crate) struct Limits {
    limits: Vec<Option<Box<Limit>>>,
    free_limits: Vec<LimitIx>,
    by_partition: BTreeMap<Partition, LimitIx>,
    gates: Vec<Option<Box<Gate>>>,
    free_gates: Vec<GateIx>,
    by_numbers: std::collections::HashMap<(LimitIx, LimitNumbers), GateIx, RandomState>,
    /// In monotonic milliseconds.
    timers: BTreeSet<(u64, LimitIx, Bucket)>,
    /// When a pause or an override expires.
    ends: BTreeSet<(Millis, LimitIx)>,
}

impl Limits {
    pub fn new(hasher: RandomState) -> Self {
        Self {
            limits: Vec::new(),
            free_limits: Vec::new(),
            by_partition: BTreeMap::new(),
            gates: Vec::new(),
            free_gates: Vec::new(),
            by_numbers: std::collections::HashMap::with_hasher(hasher),
            timers: BTreeSet::new(),
            ends: BTreeSet::new(),
        }
    }

    pub fn find(&self, partition: &Partition) -> Option<LimitIx> {
        self.by_partition.get(partition).copied()
    }

    pub fn get_or_make(&mut self, partition: &Partition) -> LimitIx {
        if let Some(ix) = self.find(partition) {
            return ix;
        }
        let ix = self.free_limits.pop().unwrap_or(LimitIx(self.limits.len() as u32));
        if self.limits.len() <= ix.0 as usize {
            self.limits.push(None);
        }
        self.limits[ix.0 as usize] = Some(Box::new(Limit::new(partition.clone())));
        self.by_partition.insert(partition.clone(), ix);
        ix
    }

    pub fn limit(&self, ix: LimitIx) -> &Limit {
        self.limits[ix.0 as usize].as_ref().expect("a limit exists while it is used")
    }

    pub fn limit_mut(&mut self, ix: LimitIx) -> &mut Limit {
        self.limits[ix.0 as usize].as_mut().expect("a limit exists while it is used")
    }

    pub fn gate(&self, ix: GateIx) -> &Gate {
        self.gates[ix.0 as usize].as_ref().expect("a gate exists while it is used")
    }

    pub fn gate_mut(&mut self, ix: GateIx) -> &mut Gate {
        self.gates[ix.0 as usize].as_mut().expect("a gate exists while it is used")
    }

    /// Returns the gate for these numbers, created if needed, and counts one more user.
    pub fn use_gate(
        &mut self,
        limit: LimitIx,
        numbers: LimitNumbers,
        on_limit: Option<OnLimit>,
    ) -> GateIx {
        let ix = match self.by_numbers.get(&(limit, numbers)) {
            Some(&ix) => ix,
            None => self.make_gate(limit, numbers),
        };
        let gate = self.gate_mut(ix);
        gate.users += 1;
        gate.on_limit = gate.on_limit.or(on_limit);
        ix
    }

    /// A group stands at the gate. It may stay after nobody has to pass the gate, until it is next
    /// checked.
    pub fn stand_at(&mut self, ix: GateIx) {
        self.gate_mut(ix).users += 1;
    }

    /// Removes a user of a gate. The gate goes with the last one; the limit stays until it is found
    /// idle. Returns whether it was the last.
    pub fn leave_gate(&mut self, ix: GateIx) -> bool {
        let gate = self.gate_mut(ix);
        gate.users -= 1;
        if gate.users > 0 {
            return false;
        }
        let (limit, numbers) = (gate.limit, gate.numbers);
        self.by_numbers.remove(&(limit, numbers));
        self.gates[ix.0 as usize] = None;
        self.free_gates.push(ix);
        self.limit_mut(limit).gates.remove(&ix);
        true
    }

    fn make_gate(&mut self, limit: LimitIx, numbers: LimitNumbers) -> GateIx {
        let ix = self.free_gates.pop().unwrap_or(GateIx(self.gates.len() as u32));
        if self.gates.len() <= ix.0 as usize {
            self.gates.push(None);
        }
        let gate = Gate { limit, numbers, available: 0, users: 0, on_limit: None, notified: None };
        self.gates[ix.0 as usize] = Some(Box::new(gate));
        self.by_numbers.insert((limit, numbers), ix);
        let limit = self.limit_mut(limit);
        limit.gates.insert(ix);
        limit.watch(numbers);
        ix
    }

    pub fn opening(&self, ix: GateIx, now: Now) -> Opening {
        let gate = self.gate(ix);
        self.limit(gate.limit).opening(gate.numbers, now)
    }

    pub fn forget(&mut self, ix: LimitIx) {
        if let Some(limit) = self.limits[ix.0 as usize].take() {
            for (bucket, at) in &limit.timers {
                self.timers.remove(&(*at, ix, *bucket));
            }
            self.by_partition.remove(&limit.partition);
            self.free_limits.push(ix);
        }
    }

    /// Limits after this partition, in order.
    pub fn after(&self, partition: Partition) -> impl Iterator<Item = (LimitIx, &Limit)> {
        let range = (Bound::Excluded(partition), Bound::Unbounded);
        self.by_partition.range(range).map(|(_, ix)| (*ix, self.limit(*ix)))
    }

    /// Limits whose key is `key` or greater, in order.
    pub fn from(&self, key: &str) -> impl Iterator<Item = (LimitIx, &Limit)> {
        let first = Partition { key: LimitKey::stored(key), tenant: None };
        self.by_partition.range(first..).map(|(_, ix)| (*ix, self.limit(*ix)))
    }

    pub fn len(&self) -> usize {
        self.by_partition.len()
    }

    /// Sets a timer for a bucket, unless an earlier one is set.
    pub fn set_timer(&mut self, ix: LimitIx, bucket: Bucket, at: u64) {
        let timer = self.limit_mut(ix).timers.entry(bucket).or_insert(u64::MAX);
        if at < *timer {
            let old = std::mem::replace(timer, at);
            self.timers.remove(&(old, ix, bucket));
            self.timers.insert((at, ix, bucket));
        }
    }

    pub fn next_timer(&self) -> Option<u64> {
        self.timers.first().map(|&(at, ..)| at)
    }

    pub fn pop_timer(&mut self, mono: u64) -> Option<(LimitIx, Bucket)> {
        let &(at, ix, bucket) = self.timers.first()?;
        if at > mono {
            return None;
        }
        self.timers.pop_first();
        self.limit_mut(ix).timers.remove(&bucket);
        Some((ix, bucket))
    }

    /// Sets a timer for the end of a pause or override.
    pub fn ends_at(&mut self, ix: LimitIx, at: Millis) {
        self.ends.insert((at, ix));
    }

    pub fn next_end(&self) -> Option<Millis> {
        self.ends.first().map(|&(at, _)| at)
    }

    pub fn pop_end(&mut self, now: Millis) -> Option<LimitIx> {
        let &(at, ix) = self.ends.first()?;
        if at > now {
            return None;
        }
        self.ends.pop_first();
        Some(ix)
    }

    pub fn exists(&self, ix: LimitIx) -> bool {
        self.limits.get(ix.0 as usize).is_some_and(Option::is_some)
    }
}
