//! Chances: how many of the recent dispatches each queue could have had.

use std::collections::{BTreeMap, BTreeSet};

use super::Scheduler;
use super::parts::PartsIx;
use super::pick::{FetchRequest, RequestedQueues};
use crate::queue::QueueIx;

/// Dispatches before chances are evaluated for the first time, and the most in between. The number
/// doubles each time, and is no smaller than that of the queues, so that evaluating them all costs
/// O(1) for each dispatch.
const FIRST: i64 = 4;
const MOST: i64 = 64;

/// The chances of recent dispatches; older ones count half as much each time they are evaluated. They
/// are not stored: after a restart, all queues are treated alike until they are counted again.
pub(super) struct Chances {
    dispatches: i64,
    /// From fetches that named some of a rotation's queues, or a single queue without a rotation.
    named: BTreeMap<QueueIx, i64>,
    /// Some fetches could not have had every queue.
    is_partial: bool,
    /// Dispatches until the next evaluation, and the next number of them.
    left: i64,
    period: i64,
}

impl Default for Chances {
    fn default() -> Self {
        let named = BTreeMap::new();
        Self { dispatches: 0, named, is_partial: false, left: FIRST, period: 2 * FIRST }
    }
}

impl Chances {
    /// Counts a dispatch to a fetch that named these queues; to one for a whole rotation if there are
    /// none.
    fn dispatched(&mut self, named: &[QueueIx]) {
        self.dispatches += 1;
        self.left -= 1;
        named.iter().for_each(|queue| *self.named.entry(*queue).or_default() += 1);
    }

    pub fn forget(&mut self, queue: QueueIx) {
        self.named.remove(&queue);
    }

    pub fn absorb(&mut self, others: Chances) {
        self.dispatches += others.dispatches;
        for (queue, times) in others.named {
            *self.named.entry(queue).or_default() += times;
        }
        self.is_partial = true;
    }

    /// How many of the dispatches a queue could have had, and how many it could not. `asked` is the
    /// number of those to fetches for whole rotations that have the queue.
    pub fn of(&self, queue: QueueIx, asked: i64) -> (i64, i64) {
        let chances = asked + self.named.get(&queue).copied().unwrap_or_default();
        (chances, (self.dispatches - chances).max(0))
    }

    /// Begins the next period, which is at least this long.
    fn begin_period(&mut self, least: i64) {
        self.left = self.period.max(least);
        self.period = (2 * self.period).min(MOST);
        self.dispatches /= 2;
        self.named.retain(|_, times| {
            *times /= 2;
            *times > 0
        });
    }
}

impl Scheduler {
    /// Counts which queues a dispatch could have been from. Now and then gives the queues that few
    /// fetches can serve a head start.
    pub(super) fn count_chances(&mut self, request: &FetchRequest, queue: QueueIx) {
        let ix = match request.rotation {
            Some(rotation) => Some(self.rotations.parts_of(rotation)),
            None => self.queue(queue).parts,
        };
        let Some(ix) = ix else { return };
        let named = match (&request.queues, request.rotation) {
            (RequestedQueues::Some(queues), Some(_)) => queues.as_slice(),
            (RequestedQueues::All, Some(_)) => &[],
            (_, None) => &[queue],
        };
        let whole = request.rotation.filter(|_| named.is_empty());
        let queues = whole.map_or(0, |rotation| self.rotations.get(rotation).queues().len());
        let Some(parts) = self.rotations.parts.get_mut(&ix) else { return };
        if !parts.is_enforced() {
            return;
        }
        parts.chances.is_partial |= queues < parts.len();
        // As long as every fetch names all queues, there is nothing to count.
        if !parts.chances.is_partial {
            return;
        }
        parts.chances.dispatched(named);
        if let Some(rotation) = whole {
            self.rotations.get_mut(rotation).asked += 1;
        }
        self.evaluate_chances(ix);
    }

    fn evaluate_chances(&mut self, ix: PartsIx) {
        let Some(parts) = self.rotations.parts.get(&ix).filter(|parts| parts.chances.left <= 0)
        else {
            return;
        };
        let (mut asked, mut rotations) = (BTreeMap::new(), BTreeSet::new());
        for queue in parts.queues() {
            for &rotation in &self.queues[queue.0 as usize].rotates_in {
                if self.rotations.parts_of(rotation) == ix {
                    self.steps += 1;
                    rotations.insert(rotation);
                    *asked.entry(queue).or_default() += self.rotations.get(rotation).asked;
                }
            }
        }
        let Some(parts) = self.rotations.parts.get_mut(&ix) else { return };
        let changed = parts.set_head_starts(|queue| asked.get(&queue).copied().unwrap_or_default());
        let least = parts.memberships();
        parts.chances.begin_period(least);
        for rotation in rotations {
            self.rotations.get_mut(rotation).asked /= 2;
            if changed {
                self.rotations.move_to_parts(rotation, ix);
            }
        }
    }
}
