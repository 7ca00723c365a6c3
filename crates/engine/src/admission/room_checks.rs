//! The list of queues that may have room again, whose waiting enqueues are to be tried.

use std::collections::{BTreeMap, BTreeSet};

use crate::WaiterId;
use crate::queue::QueueIx;

#[derive(Default)]
pub(crate) struct RoomChecks {
    due: BTreeSet<QueueIx>,
    /// The next round over `due` begins at this queue.
    turn: Option<QueueIx>,
    /// Queues with more waiting enqueues than one step tries.
    unfinished: BTreeMap<QueueIx, Progress>,
}

struct Progress {
    last_tried: WaiterId,
    /// Jobs have left the queue since: start over after the last enqueue was tried.
    again: bool,
}

impl RoomChecks {
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    pub fn add(&mut self, queue: QueueIx) {
        self.due.insert(queue);
        if !self.unfinished.is_empty()
            && let Some(progress) = self.unfinished.get_mut(&queue)
        {
            progress.again = true;
        }
    }

    pub fn remove(&mut self, queue: QueueIx) {
        self.due.remove(&queue);
        self.unfinished.remove(&queue);
    }

    /// Removes and returns the next queue, and the waiting enqueue after which to continue.
    pub fn next(&mut self) -> Option<(QueueIx, Option<WaiterId>)> {
        let behind = self.turn.and_then(|turn| self.due.range(turn..).next());
        let queue = *behind.or_else(|| self.due.first())?;
        self.due.remove(&queue);
        self.turn = Some(QueueIx(queue.0.wrapping_add(1)));
        let progress = self.unfinished.get(&queue);
        Some((queue, progress.map(|progress| progress.last_tried)))
    }

    /// A queue's waiting enqueues were tried up to this one, or all of them.
    pub fn tried(&mut self, queue: QueueIx, up_to: Option<WaiterId>) {
        let progress = self.unfinished.remove(&queue);
        let again = progress.is_some_and(|progress| progress.again) || self.due.contains(&queue);
        if let Some(last_tried) = up_to {
            self.unfinished.insert(queue, Progress { last_tried, again });
        }
        if again || up_to.is_some() {
            self.due.insert(queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_with_many_waiting_enqueues_does_not_hold_up_others() {
        let (a, b) = (QueueIx(3), QueueIx(7));
        let mut checks = RoomChecks::default();
        checks.add(a);
        checks.add(b);
        assert_eq!(checks.next(), Some((a, None)));
        checks.tried(a, Some(WaiterId(64)));
        checks.add(a);
        assert_eq!(checks.next(), Some((b, None)));
        checks.tried(b, None);
        assert_eq!(checks.next(), Some((a, Some(WaiterId(64)))));
        checks.tried(a, Some(WaiterId(128)));
        // To the last one, then from the beginning, because a job left meanwhile.
        assert_eq!(checks.next(), Some((a, Some(WaiterId(128)))));
        checks.tried(a, None);
        assert_eq!(checks.next(), Some((a, None)));
        checks.tried(a, None);
        assert!(checks.is_empty() && checks.next().is_none());
    }
}
