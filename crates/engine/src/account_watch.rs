//! Counts of the last minute's dispatches by the account that was charged.
//!
//! Most dispatches are charged to their queue's own account, and queues count their dispatches
//! anyway, so only the others are counted here.

use std::collections::BTreeMap;

use rota_model::Millis;

use crate::meters::{LastMinute, SLOT_MS, SLOTS};
use crate::queue::QueueIx;
use crate::scheduler::RotationKey;
use crate::stats::Dispatches;

#[derive(Default)]
pub(crate) struct AccountWatch {
    /// Charged to the shared account of a pool or set.
    shared: BTreeMap<RotationKey, LastMinute<Dispatches>>,
    /// Dispatches from a queue that were not charged to its own account.
    elsewhere: BTreeMap<QueueIx, LastMinute<Dispatches>>,
    /// When counting last began anew.
    since: Option<Millis>,
}

impl AccountWatch {
    pub fn shared(&mut self, key: &RotationKey) -> &mut LastMinute<Dispatches> {
        if !self.shared.contains_key(key) {
            self.shared.insert(key.clone(), LastMinute::default());
        }
        self.shared.get_mut(key).expect("it was just put there")
    }

    pub fn elsewhere(&mut self, queue: QueueIx) -> &mut LastMinute<Dispatches> {
        self.elsewhere.entry(queue).or_default()
    }

    pub fn shared_in_minute(&self, key: &RotationKey, now: Millis) -> u64 {
        self.shared.get(key).map_or(0, |minute| minute.sum(now).jobs())
    }

    pub fn elsewhere_in_minute(&self, queue: QueueIx, now: Millis) -> u64 {
        self.elsewhere.get(&queue).map_or(0, |minute| minute.sum(now).jobs())
    }

    /// Begins anew: nothing that was dispatched so far counts for any account. Takes the dispatches of
    /// each queue, and returns the shared accounts that had any.
    pub fn begin_anew(
        &mut self,
        queues: impl Iterator<Item = (QueueIx, LastMinute<Dispatches>)>,
        now: Millis,
    ) -> Vec<RotationKey> {
        self.elsewhere = queues.collect();
        self.shared.values_mut().for_each(|minute| *minute = LastMinute::default());
        self.since = Some(now);
        self.shared.keys().cloned().collect()
    }

    /// Whether the last minute has dispatches from before counting began anew.
    pub fn is_new(&self, now: Millis) -> bool {
        self.since.is_some_and(|since| now.0 - since.0 < i64::from(SLOTS) * SLOT_MS)
    }

    pub fn forget_shared(&mut self, key: &RotationKey) -> bool {
        self.shared.remove(key).is_some()
    }

    /// Returns whether anything was counted for this queue.
    pub fn forget_queue(&mut self, queue: QueueIx) -> bool {
        self.elsewhere.remove(&queue).is_some()
    }
}
