//! A waitlist: the turns that wait for one limit in one queue, and which of them are offered a start.
//!
//! Turns stand in line at gates. Gates that are found closed sleep, together with the others of their
//! bucket. From gates that may be open, the first turns become candidates, as many as may start, and
//! each is offered a start. An offer reserves nothing.

mod gate_lines;

use std::cmp::Reverse;

use rota_model::Seq;

use self::gate_lines::GateLine;
use super::gates::BucketGates;
use super::line::{Line, State};
use super::{Bucket, GateIx};
use crate::scheduler::small_map::SmallMap;
use crate::scheduler::tag::Tag;
use crate::scheduler::turn::{LaneKey, TurnIx};
use crate::tenant::TenantIx;

/// A turn's position in the order of a key. A stale rank is always too small, so the turn comes up too
/// early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// The highest level first.
    pub level: Reverse<i32>,
    /// The tenant's tag at the key.
    pub tag: Tag,
    /// The turn's tag after it was last served.
    pub last: Tag,
    /// The priority of the turn's first job, and that job.
    pub priority: Reverse<i16>,
    pub job: Seq,
}

/// A group in its turn: by its first lane.
pub(crate) type GroupKey = (LaneKey, GateIx);

/// How a bucket of this waitlist sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subscription {
    /// The rank of the first turn.
    pub rank: Rank,
    pub tenant: TenantIx,
    /// Other turns wait behind the first.
    pub contested: bool,
}

/// The turns that wait for one limit in one queue.
#[derive(Debug, Default)]
pub(crate) struct Waitlist {
    /// Turns whose gate was found open, each with the groups through which it may start.
    candidates: Line,
    gates: SmallMap<GateIx, GateLine>,
    /// Gates by bucket; `None` for gates that are not known to be closed.
    buckets: SmallMap<Option<Bucket>, BucketGates>,
    /// Buckets that are awake, by the rank of their first turn.
    awake: SmallMap<(Rank, Option<Bucket>)>,
    offered: SmallMap<(Rank, TurnIx)>,
    /// Turns that yielded their offer.
    yielded: SmallMap<(Rank, TurnIx)>,
    /// No offers are made to the current fetch, because it can serve somebody with a better rank.
    pub deferred: bool,
    /// More turns have waited for open starts than there were. Also noted in the queue.
    pub contended: bool,
}

/// The first turn in line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstInLine {
    pub rank: Rank,
    pub turn: TurnIx,
    pub tenant: TenantIx,
    pub group: GroupKey,
    /// The group is a candidate's, not at its gate.
    pub is_candidate: bool,
}

impl Waitlist {
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty() && self.gates.is_empty()
    }

    /// Adds a group at its gate, and closes the gate if `closed` names a bucket.
    pub fn insert(
        &mut self,
        turn: TurnIx,
        tenant: TenantIx,
        group: GroupKey,
        rank: Rank,
        closed: Option<Bucket>,
    ) {
        if let Some(bucket) = closed {
            self.close(group.1, bucket);
        }
        let fresh = || GateLine { bucket: closed, ..GateLine::default() };
        let gate = self.gates.or_insert(group.1, fresh);
        gate.line.insert(turn, tenant, group, rank, State::InLine);
        self.gate_changed(group.1);
    }

    pub fn remove(&mut self, turn: TurnIx, group: GroupKey, is_candidate: bool) {
        if !is_candidate {
            if let Some(gate) = self.gates.get_mut(&group.1) {
                gate.line.remove(turn, group);
            }
            self.gate_changed(group.1);
        } else if let Some(entry) = self.candidates.remove(turn, group) {
            self.offered.remove(&(entry.rank, turn));
            self.yielded.remove(&(entry.rank, turn));
        }
    }

    /// Replaces a group's key, because its first lane or that lane's head changed. The turn's rank
    /// changes only if it becomes smaller.
    pub fn rekey(
        &mut self,
        turn: TurnIx,
        old: GroupKey,
        new: GroupKey,
        is_candidate: bool,
        rank: Rank,
    ) {
        let line = match is_candidate {
            true => Some(&mut self.candidates),
            false => self.gates.get_mut(&old.1).map(|gate| &mut gate.line),
        };
        let rank_falls = line.is_some_and(|line| line.rekey(turn, old, new, rank));
        if rank_falls {
            self.set_rank(turn, new.1, is_candidate, rank);
        } else if !is_candidate {
            self.gate_changed(new.1);
        }
    }

    /// Corrects the rank of a turn, among the candidates or at a gate.
    pub fn set_rank(&mut self, turn: TurnIx, gate: GateIx, is_candidate: bool, rank: Rank) {
        if !is_candidate {
            self.set_rank_at_gate(turn, gate, rank);
            return;
        }
        let Some(old) = self.candidates.set_rank(turn, rank).filter(|old| *old != rank) else {
            return;
        };
        for set in [&mut self.offered, &mut self.yielded] {
            if set.remove(&(old, turn)).is_some() {
                set.insert((rank, turn));
            }
        }
    }

    /// The first turn in line, among the candidates and at gates that are awake.
    pub fn first(&self) -> Option<FirstInLine> {
        let candidate = self.candidates.first();
        match (self.awake.first(), candidate) {
            (Some(awake), Some((rank, ..))) if rank <= awake.0 => self.first_candidate(),
            (Some((_, bucket)), _) => self.first_in(*bucket),
            (None, _) => self.first_candidate(),
        }
    }

    fn first_candidate(&self) -> Option<FirstInLine> {
        let (rank, turn, tenant) = self.candidates.first()?;
        let group = self.candidates.first_group(turn)?;
        Some(FirstInLine { rank, turn, tenant, group, is_candidate: true })
    }

    /// Makes a group whose gate is open a candidate's. The turn gets an offer unless it has one or has
    /// yielded.
    pub fn offer(&mut self, first: FirstInLine) {
        let FirstInLine { rank, turn, tenant, group, is_candidate } = first;
        if !is_candidate {
            self.remove(turn, group, false);
            if self.candidates.insert(turn, tenant, group, rank, State::Offered) {
                self.offered.insert((rank, turn));
            } else if self.candidates.rank(turn).is_some_and(|current| rank < current) {
                self.set_rank(turn, group.1, true, rank);
            }
        }
        if !self.has_offer_or_yielded(turn) {
            self.set_candidate_state(turn, State::Offered);
        }
    }

    /// Turns without an offer whose gate is not known to be closed, each with its first waiting group.
    pub fn without_offer(&self) -> impl Iterator<Item = (TurnIx, GroupKey)> {
        let awake = self.awake.keys().filter_map(|(_, bucket)| self.buckets.get(bucket));
        let at_gates = awake.flat_map(|gates| {
            let contested = gates.contested.keys().filter_map(|(_, gate)| self.gates.get(gate));
            contested.flat_map(|gate| gate.line.in_line()).chain(gates.solo.in_line())
        });
        let yielded = self
            .yielded
            .keys()
            .filter_map(|(_, turn)| self.candidates.first_group(*turn).map(|group| (*turn, group)));
        self.candidates.in_line().chain(yielded).chain(at_gates)
    }

    /// Number of turns that have an offer.
    pub fn offers(&self) -> u64 {
        self.offered.len() as u64
    }

    pub fn offered(&self) -> impl Iterator<Item = TurnIx> {
        self.offered.keys().map(|(_, turn)| *turn)
    }

    /// The turn with an offer that is last in the key's order.
    pub fn last_offered(&self) -> Option<(Rank, TurnIx)> {
        self.offered.last().copied()
    }

    /// The group that a turn's offer is for.
    pub fn offered_group(&self, turn: TurnIx) -> Option<GroupKey> {
        let is_offered = self.candidates.state(turn) == Some(State::Offered);
        self.candidates.first_group(turn).filter(|_| is_offered)
    }

    pub fn has_offer_or_yielded(&self, turn: TurnIx) -> bool {
        matches!(self.candidates.state(turn), Some(State::Offered | State::Yielded))
    }

    /// Takes back a turn's offer and returns it to the line.
    pub fn retract(&mut self, turn: TurnIx) {
        self.set_candidate_state(turn, State::InLine);
    }

    /// Lets other turns use this turn's offer first.
    pub fn yield_offer(&mut self, turn: TurnIx) {
        self.set_candidate_state(turn, State::Yielded);
    }

    /// Takes a parked turn out of line: among the candidates, or at a gate.
    pub fn park_in_line(&mut self, turn: TurnIx, gate: Option<GateIx>) {
        match gate {
            None => self.set_candidate_state(turn, State::Parked),
            Some(gate) => self.set_gate_state(turn, gate, State::Parked),
        }
    }

    /// Returns a turn that is no longer parked to the line, among the candidates and at these gates.
    pub fn rejoin(&mut self, turn: TurnIx, gates: impl Iterator<Item = GateIx>) {
        if self.candidates.state(turn) == Some(State::Parked) {
            self.set_candidate_state(turn, State::InLine);
        }
        gates.for_each(|gate| self.set_gate_state(turn, gate, State::InLine));
    }

    /// Returns turns that have yielded to the line. Returns whether there were any.
    pub fn end_yields(&mut self) -> bool {
        let yielded = std::mem::take(&mut self.yielded);
        yielded.keys().for_each(|(_, turn)| self.candidates.set_state(*turn, State::InLine));
        !yielded.is_empty()
    }

    /// Whether a turn that has yielded is at a higher level than this.
    pub fn yielded_above(&self, level: Reverse<i32>) -> bool {
        self.yielded.first().is_some_and(|(rank, _)| rank.level < level)
    }

    /// Whether another turn comes before `turn`, whose current rank is `rank`.
    pub fn has_rival(&self, turn: TurnIx, rank: Rank) -> bool {
        let offered = self.offered.keys().take(2).copied();
        let waiting = self.first().map(|first| (first.rank, first.turn));
        offered.chain(waiting).any(|(other_rank, other)| other != turn && other_rank < rank)
    }

    fn set_candidate_state(&mut self, turn: TurnIx, state: State) {
        let Some((rank, old)) = self.candidates.rank(turn).zip(self.candidates.state(turn)) else {
            return;
        };
        match old {
            State::Offered => self.offered.remove(&(rank, turn)),
            State::Yielded => self.yielded.remove(&(rank, turn)),
            State::InLine | State::Parked => None,
        };
        match state {
            State::Offered => self.offered.insert((rank, turn)),
            State::Yielded => self.yielded.insert((rank, turn)),
            State::InLine | State::Parked => true,
        };
        self.candidates.set_state(turn, state);
    }
}
