//! How one tenant's queues take turns, in an account over several queues.
//!
//! The tenant is chosen first, so each tenant rotates over its queues by itself. With one rotation for
//! all tenants, two tenants that alternate could each meet the same queue forever.

use std::collections::{BTreeMap, BTreeSet};

use super::tag::Tag;
use crate::queue::QueueIx;

/// The most jobs that a queue can be behind the round. What it missed beyond that is not made up for,
/// so that a queue that joins at the round does not wait for long.
pub(super) const MOST_BEHIND: u128 = 16;

/// A queue keeps its tag while the tenant could be served from it, including by fetches that do not
/// name it. Its tag is raised to the round after the tenant had no work there, and after the queue was
/// skipped because nothing could start from it.
#[derive(Debug, Default)]
pub(super) struct QueueTurns {
    /// The largest tag at which a queue was served.
    round: Tag,
    served: u64,
    /// By queue: its tag, and when it was last served. A missing queue was never served.
    tags: BTreeMap<QueueIx, (Tag, u64)>,
    /// Queues with work of the tenant that a fetch named when nothing could start from them: paused, at
    /// their cap, or at a closed limit.
    skipped: BTreeSet<QueueIx>,
}

impl QueueTurns {
    /// The sort key of a queue. Among equal tags, the queue that was not served for longest goes
    /// first.
    pub fn order_of(&self, queue: QueueIx, step: u128) -> (Tag, u64) {
        let (tag, served) = self.tags.get(&queue).copied().unwrap_or_default();
        // By its current weight, the queue is at most one job ahead.
        (tag.min(self.round.plus(step)), served)
    }

    /// A fetch has named a queue where the tenant has work. If it was skipped before and something may
    /// start from it now, it joins at the round, because it saved up no turns while it was closed.
    pub fn named(&mut self, queue: QueueIx, may_start: bool) {
        if !may_start {
            self.skipped.insert(queue);
        } else if self.skipped.contains(&queue) {
            self.join(queue);
        }
    }

    /// The tenant has something to start in this queue again.
    pub fn join(&mut self, queue: QueueIx) {
        self.skipped.remove(&queue);
        let (tag, _) = self.tags.entry(queue).or_default();
        *tag = self.round.max(*tag);
    }

    /// The tenant has no jobs in this queue. A tag ahead of the round is remembered.
    pub fn leave(&mut self, queue: QueueIx) {
        self.skipped.remove(&queue);
        let round = self.round;
        if self.tags.get(&queue).is_some_and(|(tag, _)| *tag <= round) {
            self.tags.remove(&queue);
        }
    }

    pub fn served(&mut self, queue: QueueIx, step: u128) {
        let (tag, _) = self.order_of(queue, step);
        let start = tag.max(self.round.minus(MOST_BEHIND * step));
        self.served += 1;
        self.round = self.round.max(start);
        self.tags.insert(queue, (start.plus(step), self.served));
    }
}
