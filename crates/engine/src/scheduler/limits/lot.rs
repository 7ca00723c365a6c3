//! Who waits for one key in one queue, and who of them may start.
//!
//! A group is all lanes of one turn that wait at one gate. Groups stand in the key's order; the first
//! of them, as many as the gate lets start, are offered a start and make their turns eligible. An
//! offer reserves nothing. A gate that is found closed sleeps until its key may have opened.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rota_model::Seq;

use super::{Bucket, GateIx};
use crate::scheduler::tag::Tag;
use crate::scheduler::turn::TurnIx;

/// A group's place in the order of its key: the higher level first, then by the tenant's tag at the
/// key, then by how long its turn has gone unserved, then by its first job.
pub(crate) type Rank = (Reverse<i32>, Tag, Tag, (Reverse<i16>, Seq));

/// Offers that one turn may have of one key in one queue.
const OFFERS_OF_A_TURN: u32 = 4;

#[derive(Debug, Default)]
pub(crate) struct Lot {
    gates: BTreeMap<GateIx, Line>,
    /// Gates that are not known to be closed and have groups without an offer, by the first of these.
    open: BTreeSet<(Rank, GateIx)>,
    /// Gates that are known to be closed, by what closes them.
    closed: BTreeMap<Bucket, ClosedGates>,
    offered: BTreeSet<(Rank, GateIx, TurnIx)>,
    /// How many offers each turn has. An offer is one start, whatever its numbers.
    offers_of: BTreeMap<TurnIx, u32>,
    /// Groups whose turns were served something else while they had an offer.
    pub passed: Vec<(GateIx, TurnIx)>,
}

/// The groups of one gate that have no offer.
#[derive(Debug, Default)]
struct Line {
    waiting: BTreeSet<(Rank, TurnIx)>,
    closed_by: Option<Bucket>,
}

#[derive(Debug, Default)]
struct ClosedGates {
    gates: BTreeSet<(Rank, GateIx)>,
    /// The rank under which the lot sleeps in this bucket.
    asleep: Option<Rank>,
    /// One of the gates was looked at again and its first group has an offer: the others need not be
    /// looked at before that is used.
    dozing: bool,
}

impl Lot {
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty() && self.offered.is_empty() && self.passed.is_empty()
    }

    /// The last in the key's order that has an offer.
    pub fn last_offered(&self) -> Option<(Rank, GateIx, TurnIx)> {
        self.offered.last().copied()
    }

    /// Turns that have an offer.
    pub fn offered_turns(&self) -> u64 {
        self.offers_of.len() as u64
    }

    /// Whether this turn may have an offer while so many may start: others need not have fewer because
    /// it has several groups, of which its first jobs should be seen.
    pub fn may_offer(&self, turn: TurnIx, free: u64) -> bool {
        let own = self.offers_of.get(&turn).copied().unwrap_or(0);
        let others = self.offered_turns() - u64::from(own > 0);
        others < free && own < OFFERS_OF_A_TURN
    }

    pub fn offer(&mut self, rank: Rank, gate: GateIx, turn: TurnIx) {
        self.remove(rank, gate, turn);
        if self.offered.insert((rank, gate, turn)) {
            *self.offers_of.entry(turn).or_default() += 1;
        }
    }

    pub fn take_offer_back(&mut self, rank: Rank, gate: GateIx, turn: TurnIx) {
        if self.offered.remove(&(rank, gate, turn))
            && let Some(offers) = self.offers_of.get_mut(&turn)
        {
            *offers -= 1;
            if *offers == 0 {
                self.offers_of.remove(&turn);
            }
        }
    }

    /// Whether another turn comes before one that has this rank by now.
    pub fn has_rival(&self, turn: TurnIx, rank: Rank) -> bool {
        let mut first = self.offered.iter().take(2).copied().chain(self.first());
        first.any(|(other, _, of)| of != turn && other < rank)
    }

    pub fn has_offered(&self) -> bool {
        !self.offered.is_empty()
    }

    /// The first group without an offer of a gate that may be open.
    pub fn first(&self) -> Option<(Rank, GateIx, TurnIx)> {
        let &(rank, gate) = self.open.first()?;
        let &(_, turn) = self.gates.get(&gate)?.waiting.first()?;
        Some((rank, gate, turn))
    }

    pub fn add(&mut self, rank: Rank, gate: GateIx, turn: TurnIx) {
        let was = self.front(gate);
        self.gates.entry(gate).or_default().waiting.insert((rank, turn));
        self.front_moved(gate, was);
    }

    pub fn remove(&mut self, rank: Rank, gate: GateIx, turn: TurnIx) {
        let was = self.front(gate);
        if let Some(line) = self.gates.get_mut(&gate) {
            line.waiting.remove(&(rank, turn));
        }
        self.front_moved(gate, was);
    }

    fn front(&self, gate: GateIx) -> Option<Rank> {
        self.gates.get(&gate)?.waiting.first().map(|(rank, _)| *rank)
    }

    fn front_moved(&mut self, gate: GateIx, was: Option<Rank>) {
        let is = self.front(gate);
        if was == is {
            return;
        }
        let Some(line) = self.gates.get(&gate) else { return };
        let set = match line.closed_by {
            None => &mut self.open,
            Some(bucket) => &mut self.closed.entry(bucket).or_default().gates,
        };
        was.map(|rank| set.remove(&(rank, gate)));
        is.map(|rank| set.insert((rank, gate)));
        if is.is_none() {
            self.gates.remove(&gate);
        }
    }

    /// The gate was found closed.
    pub fn close(&mut self, gate: GateIx, bucket: Bucket) {
        let front = self.front(gate);
        let Some(line) = self.gates.get_mut(&gate) else { return };
        let was = line.closed_by.replace(bucket);
        let Some(rank) = front else { return };
        match was {
            None => self.open.remove(&(rank, gate)),
            Some(other) => self.closed.entry(other).or_default().gates.remove(&(rank, gate)),
        };
        self.closed.entry(bucket).or_default().gates.insert((rank, gate));
    }

    /// What closed these gates is over, perhaps: the first of them is looked at again.
    pub fn reopen_first(&mut self, bucket: Bucket) -> Option<GateIx> {
        let (rank, gate) = self.closed.get_mut(&bucket)?.gates.pop_first()?;
        if let Some(line) = self.gates.get_mut(&gate) {
            line.closed_by = None;
        }
        self.open.insert((rank, gate));
        Some(gate)
    }

    /// The first group behind gates that were left alone because somebody had an offer.
    pub fn first_dozing(&self) -> Option<(Rank, GateIx, Bucket)> {
        let dozing = self.closed.iter().filter(|(_, closed)| closed.dozing);
        let first = dozing.filter_map(|(bucket, closed)| {
            closed.gates.first().map(|&(rank, gate)| (rank, gate, *bucket))
        });
        first.min()
    }

    /// The gates that this closes are looked at again.
    pub fn stop_dozing(&mut self, bucket: Bucket) {
        if let Some(closed) = self.closed.get_mut(&bucket) {
            closed.dozing = false;
        }
    }

    /// All gates are looked at again. Whether some had been left alone.
    pub fn stop_all_dozing(&mut self) -> bool {
        let mut any = false;
        for closed in self.closed.values_mut() {
            any |= std::mem::take(&mut closed.dozing);
        }
        any
    }

    /// Somebody has an offer: the other gates that this closes can wait.
    pub fn doze(&mut self, bucket: Bucket) {
        if let Some(closed) = self.closed.get_mut(&bucket) {
            closed.dozing = !self.offered.is_empty() && !closed.gates.is_empty();
        }
    }

    /// The first group behind the gates that this closes.
    pub fn first_closed(&self, bucket: Bucket) -> Option<(Rank, GateIx, TurnIx)> {
        let &(rank, gate) = self.closed.get(&bucket)?.gates.first()?;
        let &(_, turn) = self.gates.get(&gate)?.waiting.first()?;
        Some((rank, gate, turn))
    }

    /// For each bucket in which the lot sleeps otherwise than it should: how it does, how it should,
    /// and whether its gates were not looked at for a while.
    pub fn to_resubscribe(&self) -> Vec<(Bucket, Option<Rank>, Option<Rank>, bool)> {
        let awake = !self.offered.is_empty();
        let wanted = |bucket: &Bucket, closed: &ClosedGates| {
            let first = closed.gates.first().map(|(rank, _)| *rank);
            (*bucket, closed.asleep, first.filter(|_| !(awake && closed.dozing)), closed.dozing)
        };
        let all = self.closed.iter().map(|(bucket, closed)| wanted(bucket, closed));
        all.filter(|(_, is, wanted, _)| is != wanted).collect()
    }

    /// The rank under which the lot sleeps in a bucket.
    pub fn asleep_under(&self, bucket: Bucket) -> Option<Rank> {
        self.closed.get(&bucket)?.asleep
    }

    pub fn set_asleep(&mut self, bucket: Bucket, rank: Option<Rank>) {
        let closed = self.closed.entry(bucket).or_default();
        (closed.asleep, closed.dozing) = (rank, closed.dozing && rank.is_none());
        if closed.asleep.is_none() && closed.gates.is_empty() {
            self.closed.remove(&bucket);
        }
    }
}
