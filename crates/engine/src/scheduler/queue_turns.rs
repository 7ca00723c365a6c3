//! How the queues of one tenant take turns, where its share is counted over all of them.
//!
//! The tenant is chosen first, so each tenant goes around its own queues. In a rotation that all
//! tenants share, two tenants that alternate would each meet the same queues for ever.

use std::collections::BTreeMap;

use super::tag::Tag;
use crate::queue::QueueIx;

/// How many jobs a queue can be behind the round. What it missed beyond that, while fetches asked for
/// others only, is not made up for: so a queue that joins does not wait for long.
pub(super) const MOST_BEHIND: u128 = 16;

/// A queue keeps its tag while the tenant has something to start there, whoever is served meanwhile.
/// It is moved up to the round only when the tenant had nothing to start there for a while.
#[derive(Debug, Default)]
pub(super) struct QueueTurns {
    /// The largest tag at which a queue was served.
    round: Tag,
    served: u64,
    /// The tag of each queue, and when it was last served. A queue that is missing has waited since
    /// before the first service.
    tags: BTreeMap<QueueIx, (Tag, u64)>,
}

impl QueueTurns {
    /// The smallest place is served first; among equal tags the queue that was not served for longest.
    pub fn order_of(&self, queue: QueueIx, step: u128) -> (Tag, u64) {
        let (tag, served) = self.tags.get(&queue).copied().unwrap_or_default();
        // By the weight that it has now, it is at most one job ahead.
        (tag.min(self.round.plus(step)), served)
    }

    /// The tenant has something to start in this queue, which it had not.
    pub fn join(&mut self, queue: QueueIx) {
        let (tag, _) = self.tags.entry(queue).or_default();
        *tag = self.round.max(*tag);
    }

    /// The tenant has no jobs in this queue. Its tag is remembered while it is ahead.
    pub fn leave(&mut self, queue: QueueIx) {
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
