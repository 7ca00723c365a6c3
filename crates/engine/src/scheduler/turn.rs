//! Turns: one tenant's waiting jobs at one level of priority of one queue.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rota_model::{ClassId, Seq};

use super::account::StandingIx;
use super::limits::{Bucket, ClosedNotice, GateIx, GroupKey, LimitIx, Rank};
use super::small_map::SmallMap;
use super::tag::Order;
use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::tenant::TenantIx;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TurnIx(pub u32);

/// A lane in its turn: the higher priority first, there the older head.
pub(crate) type LaneKey = (Reverse<i16>, Seq, ClassId);

#[derive(Debug)]
pub(super) struct Turn {
    pub shard: ShardIx,
    pub queue: QueueIx,
    pub tenant: TenantIx,
    pub level: i32,
    /// The version of its tenant's rules that its level comes from.
    pub version: u32,
    /// Lanes that wait at no gate.
    pub free: SmallMap<LaneKey>,
    /// Lanes that wait at a gate, those of one gate together.
    pub groups: SmallMap<GateIx, Box<Group>>,
    /// Groups that are offered a start: one for each key that offers any.
    pub offers: SmallMap<GroupKey>,
    pub offered_at: SmallMap<LimitIx, GroupKey>,
    /// Groups whose gate is not known to be closed, for fetches of the tenant itself.
    pub open_for_tenant: SmallMap<GroupKey>,
    /// Keys in whose lines the turn was set parked_at because it is parked.
    pub parked_at: BTreeSet<LimitIx>,
    /// One for each account that the queue belongs to, in the queue's order.
    pub ring_entries: Vec<RingEntry>,
    /// Kept out by its tenant's cap or a pause.
    pub parked: bool,
    /// The offer after which the search for offers to pass on continues.
    pub yielded_up_to: Option<GroupKey>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RingEntry {
    pub standing: StandingIx,
    /// The order under which it is in the ring, while it is.
    pub key: Option<Order>,
}

/// The lanes of one turn that wait at one gate. There is at least one.
#[derive(Debug)]
pub(super) struct Group {
    pub lanes: SmallMap<LaneKey>,
    /// It has come forward from its gate: its turn may start through it.
    pub is_candidate: bool,
    /// Where it sleeps, for fetches of its own tenant.
    pub asleep_for_tenant: Option<(Bucket, Rank)>,
    /// It was said that it waits.
    pub notified: Option<ClosedNotice>,
}

impl Group {
    pub fn new(lane: LaneKey) -> Self {
        Self {
            lanes: SmallMap::One(Some((lane, ()))),
            is_candidate: false,
            asleep_for_tenant: None,
            notified: None,
        }
    }

    pub fn first(&self) -> LaneKey {
        *self.lanes.first().expect("a group has lanes")
    }
}

impl Turn {
    pub fn is_empty(&self) -> bool {
        self.free.is_empty() && self.groups.is_empty()
    }

    /// It has something that may start, as far as limits go.
    pub fn is_eligible(&self) -> bool {
        !self.free.is_empty() || !self.offers.is_empty()
    }

    pub fn is_in_rings(&self) -> bool {
        self.ring_entries.first().is_some_and(|entry| entry.key.is_some())
    }

    /// The lane that would be served, and the gate that it waits at.
    pub fn first(&self) -> Option<(LaneKey, Option<GateIx>)> {
        first_of(&self.free, &self.offers)
    }

    /// The same for a fetch of its own tenant, which no other tenant keeps from a gate.
    pub fn first_for_tenant(&self) -> Option<(LaneKey, Option<GateIx>)> {
        first_of(&self.free, &self.open_for_tenant)
    }

    pub fn lanes(&self) -> impl Iterator<Item = ClassId> {
        let waiting = self.groups.iter().flat_map(|(_, group)| group.lanes.keys());
        self.free.keys().chain(waiting).map(|(_, _, class)| *class)
    }
}

fn first_of(
    free: &SmallMap<LaneKey>,
    gated: &SmallMap<GroupKey>,
) -> Option<(LaneKey, Option<GateIx>)> {
    match (free.first(), gated.first()) {
        (Some(free), Some((key, gate))) if key < free => Some((*key, Some(*gate))),
        (Some(free), _) => Some((*free, None)),
        (None, gated) => gated.map(|(key, gate)| (*key, Some(*gate))),
    }
}

/// All turns. A tenant that has nothing waiting has none.
#[derive(Default)]
pub(super) struct Turns {
    all: Vec<Option<Box<Turn>>>,
    free: Vec<TurnIx>,
}

impl Turns {
    pub fn add(&mut self, turn: Turn) -> TurnIx {
        match self.free.pop() {
            Some(ix) => {
                self.all[ix.0 as usize] = Some(Box::new(turn));
                ix
            }
            None => {
                self.all.push(Some(Box::new(turn)));
                TurnIx(self.all.len() as u32 - 1)
            }
        }
    }

    pub fn get(&self, ix: TurnIx) -> &Turn {
        self.all[ix.0 as usize].as_ref().expect("a turn is there while it is named")
    }

    pub fn get_mut(&mut self, ix: TurnIx) -> &mut Turn {
        self.all[ix.0 as usize].as_mut().expect("a turn is there while it is named")
    }

    pub fn contains(&self, ix: TurnIx) -> bool {
        self.all[ix.0 as usize].is_some()
    }

    pub fn remove(&mut self, ix: TurnIx) {
        self.all[ix.0 as usize] = None;
        self.free.push(ix);
    }

    pub fn indexes(&self) -> Vec<TurnIx> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, turn)| turn.is_some()).map(|(i, _)| TurnIx(i as u32)).collect()
    }
}
