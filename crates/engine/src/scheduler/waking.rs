//! Limits that may have opened, and waiting fetches that may be served.

use super::Scheduler;
use super::limits::{Bucket, GateIx, LimitIx, Sleeper};
use super::turn::TurnIx;
use crate::queue::QueueIx;
use crate::{Now, WaiterId};

/// Timers of limits that are looked at in one step.
const TIMERS_AT_ONCE: usize = 256;
/// Sleepers that are woken before waiting fetches are served.
const WOKEN_AT_ONCE: usize = 8;

impl Scheduler {
    /// Time has passed. Limits whose time has come are looked at by [`Scheduler::next_waiting`], a
    /// bounded number at a time.
    pub fn advance(&mut self, now: Now) {
        self.now = now;
        for _ in 0..TIMERS_AT_ONCE {
            let Some(due) = self.limits.pop_timer(now.mono) else { return };
            self.to_wake.push(due);
        }
    }

    /// A queue may have something to serve that it had not.
    pub(super) fn queue_ready(&mut self, queue: QueueIx) {
        for (rotation, _) in std::mem::take(&mut self.queue_mut(queue).sleeps_in) {
            self.steps += 1;
            self.wake_in_rotation(rotation, queue);
        }
        if self.fetches.wait_for(queue) {
            self.to_serve.insert(queue);
        }
    }

    /// A turn may have something for fetches of its own tenant.
    pub(super) fn own_jobs_came(&mut self, turn: TurnIx) {
        let is = self.turns.get(turn);
        if self.fetches.wait_for_tenants(is.queue) {
            let id = self.tenants[is.tenant.0 as usize].id.clone();
            self.to_serve_tenant.insert((is.queue, id));
        }
    }

    /// The fetch that should be tried next, while one waits that may get something. It is served or
    /// said to have got nothing before the next call.
    pub fn next_waiting(&mut self) -> Option<WaiterId> {
        loop {
            self.steps += 1;
            let woken = self.wake_some();
            if let Some(waiter) = self.waiting_for_served_queue() {
                return Some(waiter);
            }
            if !woken {
                self.fetches.forget_tried();
                return None;
            }
        }
    }

    fn waiting_for_served_queue(&mut self) -> Option<WaiterId> {
        while let Some(queue) = self.to_serve.first() {
            self.steps += 1;
            if self.has_somebody_to_serve(queue)
                && let Some(waiter) = self.fetches.first_for(queue, &self.pools)
            {
                return Some(waiter);
            }
            self.to_serve.pop_first();
        }
        while let Some((queue, id)) = self.to_serve_tenant.first() {
            self.steps += 1;
            if self.queue(*queue).may_dispatch()
                && let Some(waiter) = self.fetches.first_of_tenant(*queue, id, &self.pools)
            {
                return Some(waiter);
            }
            self.to_serve_tenant.pop_first();
        }
        None
    }

    fn has_somebody_to_serve(&self, queue: QueueIx) -> bool {
        let is = self.queue(queue);
        is.may_dispatch() && is.asleep.is_none() && !is.members[0].rings.is_empty()
    }

    /// Wakes some of those that sleep at limits which may have opened. Whether there may be more. What
    /// one start can serve is soon used up again: not all are woken before somebody is served.
    pub(super) fn wake_some(&mut self) -> bool {
        for _ in 0..WOKEN_AT_ONCE {
            self.steps += 1;
            if let Some(&turn) = self.to_withdraw.front() {
                if !self.withdraw_offers(turn) {
                    self.to_withdraw.pop_front();
                }
            } else if let Some(&(limit, bucket)) = self.to_wake.last() {
                if !self.wake_first(limit, bucket) {
                    self.to_wake.pop();
                }
            } else {
                return false;
            }
        }
        true
    }

    /// Whether there may be more to wake in this bucket.
    fn wake_first(&mut self, limit: LimitIx, bucket: Bucket) -> bool {
        if !self.limits.exists(limit) {
            return false;
        }
        let asleep = self.limits.limit(limit).asleep.get(&bucket);
        let Some(&(rank, sleeper)) = asleep.and_then(|asleep| asleep.first()) else {
            return false;
        };
        if let Sleeper::Lot(queue) = sleeper
            && self.rank_closed_anew(limit, bucket, queue)
        {
            return true;
        }
        let gate = match sleeper {
            Sleeper::Own(_, gate) => Some(gate),
            Sleeper::Queue(queue) => self.queue(queue).gate,
            Sleeper::Lot(queue) => {
                let lot = self.limits.limit(limit).lots.get(&queue);
                lot.and_then(|lot| lot.first_closed(bucket)).map(|(_, gate, _)| gate)
            }
        };
        let closed = gate.and_then(|gate| self.limits.opening(gate, self.now).closed);
        if let Some(closed) = closed
            && closed.bucket == bucket
        {
            self.set_timer(limit, &closed);
            return false;
        }
        // A lot that was ranked anew sleeps under another rank than it was found by.
        let rank = match sleeper {
            Sleeper::Lot(queue) => self.lot(limit, queue).asleep_under(bucket).unwrap_or(rank),
            _ => rank,
        };
        self.wake_up(limit, bucket, rank, sleeper);
        match sleeper {
            Sleeper::Own(turn, gate) => self.wake_own(turn, gate),
            Sleeper::Queue(queue) => {
                self.queue_mut(queue).asleep = None;
                if let Some(gate) = gate.filter(|_| closed.is_none()) {
                    self.tell_of_queue(queue, gate, None);
                }
                self.queue_ready(queue);
                self.tenants_ready(queue);
            }
            Sleeper::Lot(queue) => self.wake_lot(limit, bucket, queue),
        }
        true
    }

    fn wake_own(&mut self, turn: TurnIx, gate: GateIx) {
        let is = self.turns.get_mut(turn);
        let Some(group) = is.groups.get_mut(&gate) else { return };
        group.own_asleep = None;
        group.lanes.first().map(|first| is.own.insert((*first, gate)));
        self.own_jobs_came(turn);
    }

    fn wake_lot(&mut self, limit: LimitIx, bucket: Bucket, queue: QueueIx) {
        let lot = self.lot(limit, queue);
        lot.set_asleep(bucket, None);
        lot.reopen_first(bucket);
        // What else this closes is looked at when the offer that follows has been used.
        self.refresh_waking(limit, bucket, queue);
    }

    /// Buckets of a limit from which somebody may start now that a job has ended.
    pub(super) fn slot_freed(&mut self, limit: LimitIx) {
        let is = self.limits.limit(limit);
        if is.asleep.is_empty() {
            return;
        }
        let active = u32::try_from(is.active).unwrap_or(u32::MAX);
        let from = Bucket::Slots(active.saturating_add(1));
        let open = is.asleep.range(from..=Bucket::Slots(u32::MAX)).map(|(bucket, _)| *bucket);
        self.to_wake.extend(open.map(|bucket| (limit, bucket)));
    }

    /// What is said about a limit has changed: everybody who sleeps there looks again.
    pub(super) fn limit_changed(&mut self, limit: LimitIx) {
        let queues: Vec<QueueIx> = self.limits.limit(limit).lots.keys().copied().collect();
        for queue in queues {
            if self.lot(limit, queue).stop_all_dozing() {
                self.refresh(limit, queue);
            }
        }
        let asleep = self.limits.limit(limit).asleep.keys();
        self.to_wake.extend(asleep.map(|bucket| (limit, *bucket)));
    }

    /// When something is to be looked at, in monotonic time.
    pub fn next_timer(&self) -> Option<u64> {
        self.limits.next_timer()
    }
}
