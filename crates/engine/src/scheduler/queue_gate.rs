//! The gate of a whole queue: a limit that is checked before any of the queue's lanes.

use std::cmp::Reverse;

use rota_model::Seq;

use super::Scheduler;
use super::limits::{Closed, GateIx, Rank, Sleeper};
use super::notice::Notice;
use super::sleeping::NOBODY;
use super::tag::Tag;
use crate::queue::QueueIx;

/// The rank of a queue that sleeps as a whole: woken before all others.
const FIRST: Rank = Rank {
    level: Reverse(i32::MAX),
    tag: Tag(0),
    last: Tag(0),
    priority: Reverse(i16::MAX),
    job: Seq(0),
};

impl Scheduler {
    /// Whether the limit on the whole queue lets a job start now. If not, the queue sleeps at it.
    pub(super) fn queue_is_open(&mut self, queue: QueueIx) -> bool {
        let Some(gate) = self.queue(queue).gate else { return true };
        let closed = self.limits.opening(gate, self.now).closed;
        self.notify_queue_gate(queue, gate, closed.as_ref());
        let Some(closed) = closed else { return true };
        let limit = self.limits.gate(gate).limit;
        if self.queue(queue).asleep != Some(closed.bucket) {
            // Others may be deferred for jobs of this queue.
            self.end_deferrals();
            self.wake_queue_gate(queue);
            self.queue_mut(queue).asleep = Some(closed.bucket);
            self.subscribe(limit, closed.bucket, FIRST, NOBODY, Sleeper::Queue(queue));
        }
        self.set_timer(limit, &closed);
        false
    }

    /// The queue no longer sleeps at its limit.
    pub(super) fn wake_queue_gate(&mut self, queue: QueueIx) {
        let bucket = self.queue_mut(queue).asleep.take();
        if let (Some(bucket), Some(gate)) = (bucket, self.queue(queue).gate) {
            let limit = self.limits.gate(gate).limit;
            self.unsubscribe(limit, bucket, FIRST, NOBODY, Sleeper::Queue(queue));
        }
    }

    /// Reports that the queue's gate is closed or open again, if that has changed and a job waits.
    pub(super) fn notify_queue_gate(
        &mut self,
        queue: QueueIx,
        gate: GateIx,
        closed: Option<&Closed>,
    ) {
        let notified = self.limits.gate(gate).notified;
        if notified.is_some() == closed.is_some() {
            return;
        }
        let first = self.queue(queue).members[0].rings.last_key_value();
        let first = first.and_then(|(_, ring)| ring.first());
        let next = first.and_then(|(_, turn)| self.turns.get(turn).first());
        if next.is_none() && closed.is_some() {
            return;
        }
        let mono = self.now.mono;
        self.limits.gate_mut(gate).notified = closed.map(|closed| (closed.kind, mono));
        let Some(((_, head, class), _)) = next else { return };
        let limit = self.limits.gate(gate).limit;
        self.notices.push(match (notified, closed) {
            (None, Some(closed)) => Notice::LimitExceeded { limit, class, closed: *closed },
            (Some(notified), _) => Notice::LimitReleased { limit, class, head, notified },
            (None, None) => return,
        });
    }
}
