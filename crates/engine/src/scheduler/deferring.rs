//! Deferring: a fetch for several queues gives the open starts of a key to tenants in the key's order,
//! whatever the order of the queues.
//!
//! A waitlist that is deferred makes no offers until the key's offers change, until a job of the key
//! starts, or until the fetch ends. So the decisions of one fetch do not compare the same turns again.

use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::Scheduler;
use super::limits::{LimitIx, Rank};
use super::pick::{FetchRequest, Pick, RequestedQueues};
use super::turn::TurnIx;
use super::waking::MOST_VISITED;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

/// Waitlists deferred in one decision. What comes after that is not compared across queues.
const MOST_DEFERRED: usize = 16;

/// The waitlists that are deferred for the current fetch.
#[derive(Default)]
pub(super) struct Deferrals {
    /// Each with its number.
    waitlists: BTreeMap<(LimitIx, QueueIx), u64>,
    /// The same by queue, in the order in which they were deferred.
    in_queues: BTreeSet<(QueueIx, u64, LimitIx)>,
    last_number: u64,
    /// Keys whose offers have changed since waitlists were deferred.
    outdated: BTreeSet<LimitIx>,
    /// How many waitlists the current decision may still defer.
    left: usize,
}

impl Deferrals {
    pub fn begin_decision(&mut self) {
        self.left = MOST_DEFERRED;
    }

    pub fn is_empty(&self) -> bool {
        self.waitlists.is_empty()
    }

    /// Whether turns of a queue are deferred.
    pub fn any_in(&self, queue: QueueIx) -> bool {
        self.first_in(queue).is_some()
    }

    /// A turn got or lost an offer of a key.
    pub fn offers_changed(&mut self, limit: LimitIx) {
        if self.first_at(limit).is_some() {
            self.outdated.insert(limit);
        }
    }

    fn first_at(&self, limit: LimitIx) -> Option<QueueIx> {
        let queues = (limit, QueueIx(0))..=(limit, QueueIx(u32::MAX));
        self.waitlists.range(queues).next().map(|((_, queue), _)| *queue)
    }

    fn first_in(&self, queue: QueueIx) -> Option<LimitIx> {
        let limits = (queue, 0, LimitIx(0))..=(queue, u64::MAX, LimitIx(u32::MAX));
        self.in_queues.range(limits).next().map(|(_, _, limit)| *limit)
    }

    fn insert(&mut self, limit: LimitIx, queue: QueueIx) {
        self.left = self.left.saturating_sub(1);
        if let Entry::Vacant(vacant) = self.waitlists.entry((limit, queue)) {
            self.last_number += 1;
            vacant.insert(self.last_number);
            self.in_queues.insert((queue, self.last_number, limit));
        }
    }

    fn remove(&mut self, limit: LimitIx, queue: QueueIx) {
        if let Some(number) = self.waitlists.remove(&(limit, queue)) {
            self.in_queues.remove(&(queue, number, limit));
        }
    }
}

/// A tenant at one level that has offers of the key in the fetch's queues.
struct Rival {
    rank: Rank,
    /// How far one job moves the tenant's tag.
    step: u128,
    turns: u64,
    /// A lower bound of its waiting jobs.
    jobs: u64,
}

impl Rival {
    /// How many jobs it may start before a turn of this rank.
    fn starts_before(&self, rank: Rank, fair: bool) -> u64 {
        if self.rank >= rank {
            return 0;
        }
        let wanted = match self.rank.level.cmp(&rank.level) {
            _ if !fair => self.turns,
            Ordering::Less => u64::MAX,
            _ => {
                let behind = rank.tag.0.saturating_sub(self.rank.tag.0);
                u64::try_from(behind.div_ceil(self.step.max(1))).unwrap_or(u64::MAX).max(1)
            }
        };
        wanted.min(self.jobs)
    }
}

impl Scheduler {
    /// Defers a pick if all open starts of its key belong to other tenants first that the same fetch
    /// can serve. The pick's turn, and those behind it in its queue, then have no offer for now.
    /// Returns whether the pick was deferred.
    pub(super) fn defer_if_outranked(&mut self, pick: &mut Pick, request: &FetchRequest) -> bool {
        let Some(gate) = pick.gate else { return false };
        let ix = self.limits.gate(gate).limit;
        let limit = self.limits.limit(ix);
        let free = self.limits.opening(gate, self.now).free;
        let shared = limit.partition.tenant.is_none();
        let queues = limit.waitlists.len();
        if !shared || !(2..=MOST_VISITED).contains(&queues) || free > MOST_VISITED as u64 {
            return false;
        }
        let requested =
            limit.waitlists.keys().copied().filter(|queue| self.is_requested(request, *queue));
        let requested: Vec<QueueIx> = requested.filter(|q| self.has_eligible_turn(*q)).collect();
        let turn_state = self.turns.get(pick.turn);
        let Some(group) = turn_state.groups.get(&gate) else { return false };
        let (tenant, own_rank) = (turn_state.tenant, self.rank_of(pick.turn, ix, group.first()));
        let rivals = self.rivals(ix, pick.queue, &requested);
        let level = rivals.values().filter(|rival| rival.rank.level == own_rank.level);
        pick.key_round = level.map(|rival| rival.rank.tag).min();
        let others = rivals.iter().filter(|((_, other), _)| *other != tenant);
        let starts = others.map(|(_, rival)| rival.starts_before(own_rank, self.rules.fair));
        if starts.fold(0, u64::saturating_add) < free || self.deferrals.left == 0 {
            return false;
        }
        self.defer(ix, pick, own_rank);
        true
    }

    /// Takes back the offers of a pick's turn and of those behind it, and lets its waitlist make none.
    fn defer(&mut self, limit: LimitIx, pick: &Pick, rank: Rank) {
        let offered = self.offered_at_key(limit, pick.queue);
        let behind = offered.filter(|(_, other_rank, _)| *other_rank > rank);
        let mut outranked: Vec<TurnIx> = behind.map(|(turn, ..)| turn).collect();
        outranked.push(pick.turn);
        self.steps += outranked.len() as u64;
        self.deferrals.insert(limit, pick.queue);
        self.waitlist(limit, pick.queue).deferred = true;
        for turn in outranked {
            self.waitlist(limit, pick.queue).retract(turn);
            self.copy_offer(limit, turn);
            self.place_turn(turn);
        }
    }

    /// Turns of a queue with an offer of a key: their current ranks, and lower bounds of their waiting
    /// jobs.
    fn offered_at_key(
        &self,
        limit: LimitIx,
        queue: QueueIx,
    ) -> impl Iterator<Item = (TurnIx, Rank, u64)> {
        let list = self.limits.limit(limit).waitlists.get(&queue);
        list.into_iter().flat_map(move |list| {
            list.offered().filter_map(move |turn| {
                let (lane, gate) = list.offered_group(turn)?;
                let lanes = self.turns.get(turn).groups.get(&gate)?.lanes.len();
                let in_first = self.lanes.get(lane.2)?.len();
                Some((turn, self.rank_of(turn, limit, lane), (in_first + lanes - 1) as u64))
            })
        })
    }

    /// The tenants with offers of a key in these queues.
    fn rivals(
        &mut self,
        limit: LimitIx,
        picked_from: QueueIx,
        queues: &[QueueIx],
    ) -> BTreeMap<(i32, TenantIx), Rival> {
        let mut rivals: BTreeMap<(i32, TenantIx), Rival> = BTreeMap::new();
        for &queue in queues {
            self.steps += 1;
            if queue != picked_from {
                self.refresh(limit, queue);
            }
            for (turn, rank, jobs) in self.offered_at_key(limit, queue) {
                if self.must_park(turn) {
                    continue;
                }
                let tenant = self.turns.get(turn).tenant;
                let fresh = || Rival { rank, step: self.job_step_of(tenant), turns: 0, jobs: 0 };
                let rival = rivals.entry((rank.level.0, tenant)).or_insert_with(fresh);
                rival.rank = rival.rank.min(rank);
                rival.turns += 1;
                rival.jobs += jobs;
            }
        }
        rivals
    }

    fn is_requested(&self, request: &FetchRequest, queue: QueueIx) -> bool {
        match (&request.queues, request.rotation) {
            (RequestedQueues::Some(requested), _) => requested.contains(&queue),
            (RequestedQueues::All, Some(rotation)) => {
                self.rotations.get(rotation).position(queue).is_some()
            }
            (RequestedQueues::All, None) => false,
        }
    }

    /// A fetch has all it gets: what was deferred for it has its offers back.
    pub fn end_fetch(&mut self) {
        self.end_deferrals();
    }

    /// Ends all deferrals.
    pub(super) fn end_deferrals(&mut self) {
        while let Some((&(limit, queue), _)) = self.deferrals.waitlists.first_key_value() {
            self.end_deferral(limit, queue);
        }
        self.deferrals.outdated.clear();
    }

    /// Ends the deferrals at keys whose offers have changed.
    pub(super) fn end_outdated_deferrals(&mut self) {
        while let Some(limit) = self.deferrals.outdated.pop_first() {
            self.end_deferrals_at(limit);
        }
    }

    /// Ends the deferrals at a key.
    pub(super) fn end_deferrals_at(&mut self, limit: LimitIx) {
        while let Some(queue) = self.deferrals.first_at(limit) {
            self.end_deferral(limit, queue);
        }
        self.deferrals.outdated.remove(&limit);
    }

    /// Gives a queue that goes first an offer that is deferred there, if it has no others.
    pub(super) fn offer_deferred(&mut self, queue: QueueIx) {
        while self.queue(queue).members[0].rings.is_empty()
            && let Some(limit) = self.deferrals.first_in(queue)
        {
            self.end_deferral(limit, queue);
        }
    }

    fn end_deferral(&mut self, limit: LimitIx, queue: QueueIx) {
        self.steps += 1;
        self.deferrals.remove(limit, queue);
        if self.limits.exists(limit) {
            self.waitlist(limit, queue).deferred = false;
            self.refresh(limit, queue);
        }
    }
}
