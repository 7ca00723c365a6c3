//! Sleeping at a limit that is closed, until it may have opened.

use super::Scheduler;
use super::limits::{Bucket, Closed, GateIx, LimitIx, Lot, Rank, Sleeper};
use super::offers::RANKED_AT_ONCE;
use crate::queue::QueueIx;

impl Scheduler {
    pub(super) fn resubscribe(&mut self, limit: LimitIx, queue: QueueIx) {
        let changes = self.lot(limit, queue).to_resubscribe();
        for (bucket, was, is, unchecked) in changes {
            if let Some(rank) = was {
                self.wake_up(limit, bucket, rank, Sleeper::Lot(queue));
            }
            self.lot(limit, queue).set_asleep(bucket, is);
            if let Some(rank) = is {
                self.sleep(limit, bucket, rank, Sleeper::Lot(queue));
                if unchecked {
                    self.to_wake.push((limit, bucket));
                }
            }
        }
        let limit = self.limits.limit_mut(limit);
        if limit.lots.get(&queue).is_some_and(Lot::is_empty) {
            limit.lots.remove(&queue);
        }
    }

    /// Tenants that were served elsewhere since they began to sleep have another place now. Whether
    /// that changes who is first in a lot.
    pub(super) fn rank_closed_anew(
        &mut self,
        limit: LimitIx,
        bucket: Bucket,
        queue: QueueIx,
    ) -> bool {
        let mut moved = 0;
        while moved < RANKED_AT_ONCE
            && let Some((rank, gate, turn)) = self.lot(limit, queue).first_closed(bucket)
            && self.present_rank(turn, gate).is_some_and(|now| now > rank)
        {
            self.steps += 1;
            self.re_rank_waiting(turn, gate);
            moved += 1;
        }
        if moved > 0 {
            self.resubscribe(limit, queue);
        }
        (1..RANKED_AT_ONCE).contains(&moved)
    }

    pub(super) fn close_gate(
        &mut self,
        limit: LimitIx,
        queue: QueueIx,
        gate: GateIx,
        closed: &Closed,
    ) {
        self.lot(limit, queue).close(gate, closed.bucket);
        self.set_timer(limit, closed);
    }

    pub(super) fn set_timer(&mut self, limit: LimitIx, closed: &Closed) {
        if let Some(opens) = closed.opens {
            self.limits.look_at(limit, closed.bucket, opens.max(0) as u64);
        }
    }

    pub(super) fn sleep(&mut self, limit: LimitIx, bucket: Bucket, rank: Rank, who: Sleeper) {
        self.limits.limit_mut(limit).asleep.entry(bucket).or_default().insert((rank, who));
    }

    pub(super) fn wake_up(&mut self, limit: LimitIx, bucket: Bucket, rank: Rank, who: Sleeper) {
        let limit = self.limits.limit_mut(limit);
        if let Some(asleep) = limit.asleep.get_mut(&bucket) {
            asleep.remove(&(rank, who));
            if asleep.is_empty() {
                limit.asleep.remove(&bucket);
            }
        }
    }
}
