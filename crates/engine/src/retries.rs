//! Queues whose waiting enqueues are to be tried, because a job has left or the bounds are others.

use std::collections::{BTreeMap, BTreeSet};

use crate::WaiterId;
use crate::queue::QueueIx;

#[derive(Default)]
pub(crate) struct Retries {
    due: BTreeSet<QueueIx>,
    /// The queue whose turn it is, or the one behind it.
    turn: Option<QueueIx>,
    /// Where a queue had more to try than fits into a step.
    unfinished: BTreeMap<QueueIx, Place>,
}

struct Place {
    last_tried: WaiterId,
    /// There was room again meanwhile, so that the first are to be tried once more.
    again: bool,
}

impl Retries {
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// A queue may have room.
    pub fn add(&mut self, queue: QueueIx) {
        self.due.insert(queue);
        if !self.unfinished.is_empty()
            && let Some(place) = self.unfinished.get_mut(&queue)
        {
            place.again = true;
        }
    }

    pub fn remove(&mut self, queue: QueueIx) {
        self.due.remove(&queue);
        self.unfinished.remove(&queue);
    }

    /// Takes out the queue whose turn it is, and the waiting enqueue behind which to begin.
    pub fn next(&mut self) -> Option<(QueueIx, Option<WaiterId>)> {
        let behind = self.turn.and_then(|turn| self.due.range(turn..).next());
        let queue = *behind.or_else(|| self.due.first())?;
        self.due.remove(&queue);
        self.turn = Some(QueueIx(queue.0.wrapping_add(1)));
        let place = self.unfinished.get(&queue);
        Some((queue, place.map(|place| place.last_tried)))
    }

    /// A queue has been gone through up to this enqueue, or to its end.
    pub fn tried(&mut self, queue: QueueIx, up_to: Option<WaiterId>) {
        let place = self.unfinished.remove(&queue);
        let again = place.is_some_and(|place| place.again) || self.due.contains(&queue);
        if let Some(last_tried) = up_to {
            self.unfinished.insert(queue, Place { last_tried, again });
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
    fn a_queue_with_much_to_try_keeps_no_other_waiting() {
        let (a, b) = (QueueIx(3), QueueIx(7));
        let mut retries = Retries::default();
        retries.add(a);
        retries.add(b);
        assert_eq!(retries.next(), Some((a, None)));
        retries.tried(a, Some(WaiterId(64)));
        retries.add(a);
        assert_eq!(retries.next(), Some((b, None)));
        retries.tried(b, None);
        assert_eq!(retries.next(), Some((a, Some(WaiterId(64)))));
        retries.tried(a, Some(WaiterId(128)));
        // To its end, and then from the beginning, because a job left meanwhile.
        assert_eq!(retries.next(), Some((a, Some(WaiterId(128)))));
        retries.tried(a, None);
        assert_eq!(retries.next(), Some((a, None)));
        retries.tried(a, None);
        assert!(retries.is_empty() && retries.next().is_none());
    }
}
