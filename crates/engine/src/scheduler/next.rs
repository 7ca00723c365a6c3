//! The decision: which job a fetch gets next.

use super::Scheduler;
use super::ask::{Ask, Pick, Queues, Reason};
use super::limits::{LimitIx, Rank};
use super::rotation::RotationIx;
use super::tag::Order;
use super::turn::TurnIx;
use crate::queue::QueueIx;

impl Scheduler {
    /// The job that this fetch gets next. It stays in its lane until it is said to have started, or to
    /// have left.
    pub fn next(&mut self, ask: &Ask) -> Option<Pick> {
        // The last start may have made way for others.
        self.wake_some();
        loop {
            let pick = self.decide(ask);
            if pick.is_some() || self.to_wake.is_empty() && self.to_withdraw.is_empty() {
                return pick;
            }
            self.wake_some();
        }
    }

    fn decide(&mut self, ask: &Ask) -> Option<Pick> {
        match (ask.only, ask.account, ask.rotation) {
            (Some(tenant), ..) => self.next_of_tenant(ask, tenant),
            (None, Some(account), Some(rotation)) => self.next_in_account(ask, account, rotation),
            (None, None, Some(rotation)) => self.next_by_queue(ask, rotation),
            (None, account, None) => {
                let Queues::Some(queues) = &ask.queues else { return None };
                let queue = *queues.first()?;
                let seat = account.and_then(|account| self.queue(queue).member(account));
                self.pick_in(queue, seat.unwrap_or(0), Reason::Turn)
            }
        }
    }

    pub fn asked(&self, ask: &Ask) -> Vec<QueueIx> {
        match (&ask.queues, ask.rotation) {
            (Queues::Some(queues), _) => queues.clone(),
            (Queues::All, Some(rotation)) => self.rotations.get(rotation).queues().to_vec(),
            (Queues::All, None) => Vec::new(),
        }
    }

    /// First the queue, then the tenant in it.
    fn next_by_queue(&mut self, ask: &Ask, rotation: RotationIx) -> Option<Pick> {
        if let Queues::Some(asked) = &ask.queues {
            let queues = self.with_somebody_seated(asked, rotation);
            let pick = |scheduler: &mut Self, queue: QueueIx, reason: Reason| loop {
                let Some(pick) = scheduler.pick_in(queue, 0, reason) else {
                    scheduler.put_to_sleep(rotation, queue);
                    return None;
                };
                let pick = scheduler.in_key_order(pick, rotation, Some(asked));
                if pick.is_some() {
                    return pick;
                }
            };
            return self.next_of_some(&queues, rotation, Reason::Turn, pick);
        }
        loop {
            self.steps += 1;
            let (queue, reason) = self.first_queue(rotation)?;
            let Some(pick) = self.pick_in(queue, 0, reason) else {
                self.put_to_sleep(rotation, queue);
                continue;
            };
            let pick = self.in_key_order(pick, rotation, None);
            if pick.is_some() {
                return pick;
            }
        }
    }

    /// A start of a key for which others of these queues wait as well goes to whoever comes first in
    /// the key's order. Where queues go strictly by their own order, that comes first. `None` when
    /// somebody else came first who may not start after all.
    fn in_key_order(
        &mut self,
        pick: Pick,
        rotation: RotationIx,
        asked: Option<&[QueueIx]>,
    ) -> Option<Pick> {
        let Some(gate) = pick.gate else { return Some(pick) };
        let ix = self.limits.gate(gate).limit;
        let (lots, is) = (&self.limits.limit(ix).lots, self.rotations.get(rotation));
        if lots.len() < 2 || is.is_strict() || is.guarantees() {
            return Some(pick);
        }
        let Some(own) = self.present_rank(pick.turn, gate) else { return Some(pick) };
        let is_asked = |queue: &QueueIx| match asked {
            Some(asked) => asked.contains(queue),
            None => is.place(*queue).is_some(),
        };
        let waiting = lots.keys().filter(|queue| **queue != pick.queue).filter(|q| is_asked(q));
        let before = waiting.filter_map(|queue| self.first_at(*queue, ix));
        let before: Vec<_> = before.filter(|(rank, ..)| *rank < own).collect();
        self.steps += before.len() as u64;
        let free = self.limits.opening(gate, self.now).free;
        match before.iter().min() {
            Some(&(_, queue, turn)) if before.len() as u64 >= free => {
                if !self.queue_is_open(queue) {
                    return Some(pick);
                }
                self.pick_turn(turn, Some(0), Reason::Turn)
            }
            _ => Some(pick),
        }
    }

    /// Whoever is next in a queue, if it would be served a job of this limit.
    fn first_at(&self, queue: QueueIx, limit: LimitIx) -> Option<(Rank, QueueIx, TurnIx)> {
        if !self.queue(queue).may_dispatch() {
            return None;
        }
        let (_, ring) = self.queue(queue).members[0].rings.last_key_value()?;
        let &(_, turn) = ring.first()?;
        let gate = self.turns.get(turn).first()?.1?;
        if self.limits.gate(gate).limit != limit {
            return None;
        }
        Some((self.present_rank(turn, gate)?, queue, turn))
    }

    /// The queue that comes first in a rotation, and whether because it is owed a dispatch.
    fn first_queue(&mut self, rotation: RotationIx) -> Option<(QueueIx, Reason)> {
        let mono = self.now.mono;
        let (queue, owed) = self.rotations.get_mut(rotation).first(mono, &mut self.notices)?;
        Some((queue, if owed { Reason::Owed } else { Reason::Turn }))
    }

    /// Some of a rotation's queues: each is looked at.
    pub(super) fn next_of_some(
        &mut self,
        queues: &[QueueIx],
        rotation: RotationIx,
        otherwise: Reason,
        mut pick: impl FnMut(&mut Self, QueueIx, Reason) -> Option<Pick>,
    ) -> Option<Pick> {
        let mono = self.now.mono;
        self.steps += queues.len() as u64;
        let is = self.rotations.get_mut(rotation);
        is.note_starved(mono, &mut self.notices);
        let rank = |(named, queue): (usize, &QueueIx)| (is.rank(*queue, named, mono), *queue);
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

    /// Those of some queues that have somebody to serve. The rotation knows of them afterwards.
    pub(super) fn with_somebody_seated(
        &mut self,
        queues: &[QueueIx],
        rotation: RotationIx,
    ) -> Vec<QueueIx> {
        let seated = |queue: &QueueIx| {
            let is = self.queue(*queue);
            is.may_dispatch() && !is.members[0].rings.is_empty()
        };
        let ready: Vec<QueueIx> = queues.iter().copied().filter(seated).collect();
        ready.iter().for_each(|queue| self.wake_in_rotation(rotation, *queue));
        ready
    }

    /// Who is first in a queue, by the present tags.
    pub(super) fn first_seated(
        &mut self,
        queue: QueueIx,
        seat: usize,
    ) -> Option<(i32, Order, TurnIx)> {
        loop {
            self.steps += 1;
            let (&level, ring) = self.queue(queue).members[seat].rings.last_key_value()?;
            let &(key, turn) = ring.first()?;
            let standing = self.turns.get(turn).seats[seat].standing;
            if !self.rules.fair || self.accounts.get(standing).order() == key {
                return Some((level, key, turn));
            }
            // Its tenant was served from another queue since.
            self.reseat(turn);
        }
    }

    /// The first job of a queue that may start.
    pub(super) fn pick_in(&mut self, queue: QueueIx, seat: usize, why: Reason) -> Option<Pick> {
        loop {
            if !self.queue(queue).may_dispatch() {
                return None;
            }
            let (_, _, turn) = self.first_seated(queue, seat)?;
            if !self.queue_is_open(queue) {
                return None;
            }
            if let Some(pick) = self.pick_turn(turn, Some(seat), why) {
                return Some(pick);
            }
        }
    }

    /// The job that a turn would start; `None` when it may start none after all, which has changed
    /// where it stands.
    pub(super) fn pick_turn(
        &mut self,
        turn: TurnIx,
        seat: Option<usize>,
        reason: Reason,
    ) -> Option<Pick> {
        self.steps += 1;
        let is = self.turns.get(turn);
        let (queue, shard, tenant) = (is.queue, is.shard, is.tenant);
        if self.shards[shard.0 as usize].paused || self.is_at_cap(tenant) {
            self.reseat(turn);
            // Others may have what it was offered.
            self.withdraw_offers(turn);
            return None;
        }
        let own = reason == Reason::Tenant;
        let ((_, seq, class), gate) = if own { is.first_for_tenant()? } else { is.first()? };
        match gate {
            None => {
                if let Some((gate, closed)) = self.closed_gate(class) {
                    self.begin_sweep(class, gate, &closed);
                    return None;
                }
            }
            Some(gate) if own => {
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
                self.tell_closed(turn, other, &closed);
            }
            return None;
        }
        Some(Pick { seq, class, queue, turn, gate, seat, reason })
    }
}
