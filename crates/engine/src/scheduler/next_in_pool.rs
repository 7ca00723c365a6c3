//! The decision in pool scope: the tenant first, then one of its queues.

use std::collections::BTreeSet;

use super::Scheduler;
use super::account::{AccountIx, StandingIx};
use super::pick::{FetchRequest, Pick, Reason};
use super::rotation::{QueueRank, RotationIx};
use super::tag::{Order, Tag};
use super::turn::TurnIx;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

impl Scheduler {
    /// Picks the highest level, then the tenant by its share of all queues of the account, then the
    /// queue by the rotation, among those in which the tenant has work at that level.
    pub(super) fn next_in_account(
        &mut self,
        request: &FetchRequest,
        account: AccountIx,
        rotation: RotationIx,
    ) -> Option<Pick> {
        let queues = self.requested_queues(request);
        // Queues whose own limit turned out to be closed.
        let mut closed = BTreeSet::new();
        loop {
            self.steps += 1;
            self.end_outdated_deferrals();
            if let Some(queue) = self.owed_queue(rotation, &queues) {
                let entry_ix = self.queue(queue).member(account).unwrap_or(0);
                self.offer_deferred(queue);
                match self.pick_in(queue, entry_ix, Reason::Owed) {
                    Some(pick) => return Some(pick),
                    None => {
                        self.put_to_sleep(rotation, queue);
                        continue;
                    }
                }
            }
            let first = self.first_tenant(account, &queues, &closed)?;
            let known = closed.len();
            let first = self.first_queue_of_tenant(account, rotation, &queues, first, &mut closed);
            if closed.len() > known {
                // Jobs in a closed queue may not start, so its turns do not count.
                continue;
            }
            let (queue, turn) = first?;
            let entry_ix = self.queue(queue).member(account).unwrap_or(0);
            let Some(mut pick) = self.pick_turn(turn, Some(entry_ix), Reason::Turn) else {
                continue;
            };
            if !self.defer_if_outranked(&mut pick, request) {
                return Some(pick);
            }
        }
    }

    /// The first of these queues, by the rotation, in which a tenant has work at a level, and its turn
    /// there. Queues that turn out to be at a closed limit are added to `closed`.
    fn first_queue_of_tenant(
        &mut self,
        account: AccountIx,
        rotation: RotationIx,
        queues: &[QueueIx],
        (level, tenant): (i32, TenantIx),
        closed: &mut BTreeSet<QueueIx>,
    ) -> Option<(QueueIx, TurnIx)> {
        let mut best: Option<((Tag, u64, QueueRank), QueueIx, TurnIx)> = None;
        for (named, &queue) in queues.iter().enumerate() {
            let Some(turn) = self.eligible_turn(queue, tenant, level) else { continue };
            let may_dispatch = self.queue(queue).may_dispatch();
            if may_dispatch && !closed.contains(&queue) && !self.queue_is_open(queue) {
                closed.insert(queue);
            }
            let may_start = may_dispatch && !closed.contains(&queue);
            let entry_ix = self.queue(queue).member(account).unwrap_or(0);
            let standing = self.turns.get(turn).ring_entries[entry_ix].standing;
            self.accounts.queue_named(standing, queue, may_start);
            if !may_start {
                continue;
            }
            self.wake_in_rotation(rotation, queue);
            let rank = self.rank_for_tenant(rotation, queue, named, standing);
            if best.is_none_or(|(best_rank, ..)| rank < best_rank) {
                best = Some((rank, queue, turn));
            }
        }
        best.map(|(_, queue, turn)| (queue, turn))
    }

    /// The rank of a queue among those of one tenant: by the tenant's queue tags, then by the
    /// rotation.
    fn rank_for_tenant(
        &self,
        rotation: RotationIx,
        queue: QueueIx,
        named: usize,
        standing: StandingIx,
    ) -> (Tag, u64, QueueRank) {
        let rotation_state = self.rotations.get(rotation);
        let step = rotation_state.step(queue);
        let (tag, served) = step
            .map_or_else(Default::default, |step| self.accounts.queue_order(standing, queue, step));
        (tag, served, self.rotations.rank(rotation, queue, named, self.now.mono))
    }

    /// A queue among these that is owed a dispatch.
    fn owed_queue(&mut self, rotation: RotationIx, queues: &[QueueIx]) -> Option<QueueIx> {
        if !self.rotations.guarantees(rotation) {
            return None;
        }
        let mono = self.now.mono;
        self.with_eligible_turns(queues, rotation);
        self.rotations.report_starved(rotation, mono, &mut self.notices);
        let rotations = &self.rotations;
        let is_ready = |queue| rotations.get(rotation).is_ready(queue);
        let ready = queues.iter().enumerate().filter(|(_, queue)| is_ready(**queue));
        let rank = |named, queue| rotations.rank(rotation, queue, named, mono);
        let first = ready.map(|(named, queue)| (rank(named, *queue), *queue)).min()?;
        first.0.is_owed().then_some(first.1)
    }

    /// The first tenant across these queues but for the closed ones, at their highest level.
    fn first_tenant(
        &mut self,
        account: AccountIx,
        queues: &[QueueIx],
        closed: &BTreeSet<QueueIx>,
    ) -> Option<(i32, TenantIx)> {
        let mut best: Option<(i32, Order, TenantIx)> = None;
        for &queue in queues {
            self.steps += 1;
            if !self.queue(queue).may_dispatch() || closed.contains(&queue) {
                continue;
            }
            let Some(entry_ix) = self.queue(queue).member(account) else { continue };
            let Some((level, order, turn)) = self.first_in_ring(queue, entry_ix) else { continue };
            let better = best.is_none_or(|(best_level, best_order, _)| {
                level > best_level || level == best_level && order < best_order
            });
            if better {
                best = Some((level, order, self.turns.get(turn).tenant));
            }
        }
        best.map(|(level, _, tenant)| (level, tenant))
    }

    /// A tenant's turn at a level of a queue, if it is in the rings.
    fn eligible_turn(&self, queue: QueueIx, tenant: TenantIx, level: i32) -> Option<TurnIx> {
        let shard = self.shard_of.get(&(queue, tenant))?;
        let turns = &self.shards[shard.0 as usize].turns;
        let (_, turn) = turns.iter().find(|(turn_level, _)| *turn_level == level)?;
        Some(*turn).filter(|turn| self.turns.get(*turn).is_in_rings())
    }
}
