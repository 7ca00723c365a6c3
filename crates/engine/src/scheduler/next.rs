//! The decision: which job a fetch gets next.

use rota_model::ClassId;

use super::Scheduler;
use super::account::StandingIx;
use super::limits::GateIx;
use super::pick::{FetchRequest, Pick, Reason, RequestedQueues};
use super::rotation::RotationIx;
use super::tag::Order;
use super::turn::TurnIx;
use crate::queue::QueueIx;

impl Scheduler {
    /// Picks the next job for a fetch. The job stays in its lane until `started` or `leave`. When the
    /// fetch has all it gets, the caller calls `end_fetch`.
    pub fn next(&mut self, request: &FetchRequest) -> Option<Pick> {
        self.renew_repair_budget();
        self.deferrals.begin_decision();
        self.wake_requested(request);
        self.apply_pending_rules(request);
        loop {
            let pick = self.decide(request);
            if pick.is_some() {
                return pick;
            }
            if !self.deferrals.is_empty() {
                // Those for whom others were deferred turned out not to start.
                self.end_deferrals();
            } else if self.has_nothing_to_wake() {
                return None;
            } else {
                self.wake_some();
            }
        }
    }

    /// Makes one decision, by the scope of the fetch.
    fn decide(&mut self, request: &FetchRequest) -> Option<Pick> {
        match (request.only, request.account, request.rotation) {
            (Some(tenant), ..) => self.next_of_tenant(request, tenant),
            (None, Some(account), Some(rotation)) => {
                self.next_in_account(request, account, rotation)
            }
            (None, None, Some(rotation)) => self.next_by_queue(request, rotation),
            (None, account, None) => {
                let RequestedQueues::Some(queues) = &request.queues else { return None };
                let queue = *queues.first()?;
                let entry_ix = account.and_then(|account| self.queue(queue).member(account));
                self.pick_in(queue, entry_ix.unwrap_or(0), Reason::Turn)
            }
        }
    }

    /// The queues that a fetch may be served from, in its order or the rotation's.
    pub fn requested_queues(&self, request: &FetchRequest) -> Vec<QueueIx> {
        match (&request.queues, request.rotation) {
            (RequestedQueues::Some(queues), _) => queues.clone(),
            (RequestedQueues::All, Some(rotation)) => {
                self.rotations.get(rotation).queues().to_vec()
            }
            (RequestedQueues::All, None) => Vec::new(),
        }
    }

    /// Picks the queue by the rotation, then the tenant in that queue.
    fn next_by_queue(&mut self, request: &FetchRequest, rotation: RotationIx) -> Option<Pick> {
        let rotations = &self.rotations;
        let defer = !rotations.get(rotation).is_strict() && !rotations.guarantees(rotation);
        let pick = |scheduler: &mut Self, queue: QueueIx, reason: Reason| {
            let pick = scheduler.pick_in_key_order(request, queue, reason, defer);
            if pick.is_none() {
                scheduler.put_to_sleep(rotation, queue);
            }
            pick
        };
        if let RequestedQueues::Some(requested) = &request.queues {
            loop {
                let queues = self.with_eligible_turns(requested, rotation);
                let pick = self.next_of_some(&queues, rotation, Reason::Turn, pick);
                // Turns that were deferred may have their offers back.
                if pick.is_some() || !requested.iter().any(|queue| self.has_eligible_turn(*queue)) {
                    return pick;
                }
            }
        }
        loop {
            self.steps += 1;
            let (queue, reason) = self.first_queue(rotation)?;
            if let Some(pick) = pick(self, queue, reason) {
                return Some(pick);
            }
        }
    }

    /// The first job of a queue that may start. If `defer`, a start of a key goes to the tenant that
    /// is first in the key's order across the fetch's queues.
    fn pick_in_key_order(
        &mut self,
        request: &FetchRequest,
        queue: QueueIx,
        reason: Reason,
        defer: bool,
    ) -> Option<Pick> {
        loop {
            let mut pick = self.pick_in(queue, 0, reason)?;
            if !defer || !self.defer_if_outranked(&mut pick, request) {
                return Some(pick);
            }
        }
    }

    /// The first queue of a rotation, and whether it is first because it is owed a dispatch.
    fn first_queue(&mut self, rotation: RotationIx) -> Option<(QueueIx, Reason)> {
        let mono = self.now.mono;
        let (queue, owed) = self.rotations.first(rotation, mono, &mut self.notices)?;
        Some((queue, if owed { Reason::Owed } else { Reason::Turn }))
    }

    /// Tries some of a rotation's queues in the order of their ranks. Visits each of them.
    pub(super) fn next_of_some(
        &mut self,
        queues: &[QueueIx],
        rotation: RotationIx,
        otherwise: Reason,
        mut pick: impl FnMut(&mut Self, QueueIx, Reason) -> Option<Pick>,
    ) -> Option<Pick> {
        let mono = self.now.mono;
        self.steps += queues.len() as u64;
        self.rotations.report_starved(rotation, mono, &mut self.notices);
        let rotations = &self.rotations;
        let rank = |(named, queue): (usize, &QueueIx)| {
            (rotations.rank(rotation, *queue, named, mono), *queue)
        };
        let mut ranked: Vec<_> = queues.iter().enumerate().map(rank).collect();
        ranked.sort_unstable();
        for (rank, queue) in ranked {
            let reason = if rank.is_owed() { Reason::Owed } else { otherwise };
            if let Some(pick) = pick(self, queue, reason) {
                return Some(pick);
            }
        }
        None
    }

    /// Returns the queues that have eligible turns, or turns that are deferred, and updates the
    /// rotation accordingly.
    pub(super) fn with_eligible_turns(
        &mut self,
        queues: &[QueueIx],
        rotation: RotationIx,
    ) -> Vec<QueueIx> {
        let has_turns = |queue: &QueueIx| {
            let queue_state = self.queue(*queue);
            let deferred = || self.deferrals.any_in(*queue);
            queue_state.may_dispatch() && (!queue_state.members[0].rings.is_empty() || deferred())
        };
        let (ready, idle): (Vec<QueueIx>, Vec<QueueIx>) = queues.iter().partition(|q| has_turns(q));
        ready.iter().for_each(|queue| self.wake_in_rotation(rotation, *queue));
        idle.iter().for_each(|queue| self.put_to_sleep(rotation, *queue));
        ready
    }

    /// The first turn of a queue at its highest level, by current tags.
    pub(super) fn first_in_ring(
        &mut self,
        queue: QueueIx,
        entry_ix: usize,
    ) -> Option<(i32, Order, TurnIx)> {
        loop {
            self.steps += 1;
            self.withdraw_from_parked();
            let (&level, ring) = self.queue(queue).members[entry_ix].rings.last_key_value()?;
            let (key, turn) = ring.first()?;
            if self.is_up_to_date(turn, entry_ix, key) {
                return Some((level, key, turn));
            }
        }
    }

    /// Whether a turn is in the right place in its ring; otherwise moves it there. Its tenant may have
    /// been served from another queue, or have fallen behind the round while it could not be served.
    pub(super) fn is_up_to_date(&mut self, turn: TurnIx, entry_ix: usize, key: Order) -> bool {
        let standing = self.turns.get(turn).ring_entries[entry_ix].standing;
        let lifted = self.lift_to_round(standing);
        let up_to_date = !self.rules.fair || !lifted && self.accounts.get(standing).order() == key;
        if !up_to_date {
            self.place_turn(turn);
        }
        up_to_date
    }

    /// Raises a standing's tag to the round, so that a blocked tenant does not save up. Not where
    /// tenants pay by run time: there, a refund stays the tenant's. Returns whether the tag moved.
    pub(super) fn lift_to_round(&mut self, standing: StandingIx) -> bool {
        self.rules.one_job == 1 && self.accounts.lift(standing)
    }

    /// The first job of a queue that may start.
    pub(super) fn pick_in(
        &mut self,
        queue: QueueIx,
        entry_ix: usize,
        reason: Reason,
    ) -> Option<Pick> {
        loop {
            self.end_outdated_deferrals();
            if !self.queue(queue).may_dispatch() {
                return None;
            }
            let (_, _, turn) = self.first_in_ring(queue, entry_ix)?;
            if !self.queue_is_open(queue) {
                return None;
            }
            if let Some(pick) = self.pick_turn(turn, Some(entry_ix), reason) {
                return Some(pick);
            }
        }
    }

    /// The job that a turn would start. `None` if it may start none after all; then the turn or lane
    /// has been moved.
    pub(super) fn pick_turn(
        &mut self,
        turn: TurnIx,
        entry_ix: Option<usize>,
        reason: Reason,
    ) -> Option<Pick> {
        self.steps += 1;
        if self.must_park(turn) {
            self.place_turn(turn);
            return None;
        }
        let (turn_state, for_tenant) = (self.turns.get(turn), reason == Reason::Tenant);
        let queue = turn_state.queue;
        let ((_, seq, class), gate) =
            if for_tenant { turn_state.first_for_tenant()? } else { turn_state.first()? };
        if !self.may_stand_at(class, gate) {
            self.displace_lane(class);
            self.place_lane(class);
            return None;
        }
        match gate {
            None => {
                if let Some((gate, closed)) = self.closed_gate(class) {
                    match closed.paused {
                        true => self.wait_for_pause(class, gate),
                        false => self.begin_sweep(class, gate, &closed),
                    }
                    return None;
                }
            }
            Some(gate) if for_tenant => {
                if let Some(closed) = self.limits.opening(gate, self.now).closed {
                    self.sleep_for_tenant(turn, gate, &closed);
                    return None;
                }
            }
            Some(gate) => {
                if !self.confirm_offer(turn, gate) {
                    return None;
                }
            }
        }
        if gate.is_some()
            && let Some((other, closed)) = self.closed_gate(class)
        {
            self.move_to_gate(class, other);
            if self.turns.contains(turn) {
                self.notify_closed(turn, other, &closed);
            }
            return None;
        }
        Some(Pick { seq, class, queue, turn, gate, entry_ix, reason, key_round: None })
    }

    /// Whether a lane is at a gate it must pass, or free if there is none. The limit of its type may
    /// have come or gone since the lane was placed.
    fn may_stand_at(&self, class: ClassId, gate: Option<GateIx>) -> bool {
        match gate {
            None => !self.class(class).waits || self.gates_of(class).next().is_none(),
            Some(gate) => self.gates_of(class).any(|required| required == gate),
        }
    }
}
