//! Turns: one tenant's lanes at one level of one queue.

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

/// A lane's sort key in its turn: highest priority first, then the oldest head.
pub(crate) type LaneKey = (Reverse<i16>, Seq, ClassId);

/// One tenant's lanes at one level of one queue.
#[derive(Debug)]
pub(super) struct Turn {
    pub shard: ShardIx,
    pub queue: QueueIx,
    pub tenant: TenantIx,
    pub level: i32,
    /// The version of the tenant's rules that `level` comes from.
    pub version: u32,
    /// Lanes that stand at no gate.
    pub free: SmallMap<LaneKey>,
    /// Lanes that stand at gates, grouped by gate.
    pub groups: SmallMap<GateIx, Box<Group>>,
    /// Groups that are offered a start, at most one for each key; `offered_at` has them by key.
    pub offers: SmallMap<GroupKey>,
    pub offered_at: SmallMap<LimitIx, GroupKey>,
    /// Groups whose gate is not known to be closed, for fetches of the tenant's own workers.
    pub open_for_tenant: SmallMap<GroupKey>,
    /// Keys in whose lines the turn is parked.
    pub parked_at: BTreeSet<LimitIx>,
    /// One for each account that the queue belongs to, in the order of `Queue::members`.
    pub ring_entries: Vec<RingEntry>,
    /// Out of all rings because of the tenant's cap or a pause, or because its level is out of date.
    pub parked: bool,
    /// The last offer that `yield_offers` has looked at.
    pub yielded_up_to: Option<GroupKey>,
}

/// A turn's entry for one of the accounts that its queue belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct RingEntry {
    pub standing: StandingIx,
    /// The turn's order in the ring, while it is there.
    pub key: Option<Order>,
}

/// The lanes of one turn that stand at one gate. There is at least one.
#[derive(Debug)]
pub(super) struct Group {
    pub lanes: SmallMap<LaneKey>,
    /// The group is with the waitlist's candidates, not at its gate.
    pub is_candidate: bool,
    /// Where the group sleeps, for fetches of the tenant's own workers.
    pub asleep_for_tenant: Option<(Bucket, Rank)>,
    /// Set while `LimitExceeded` was reported and `LimitReleased` was not.
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
    /// Whether it has no lanes, and may be dropped.
    pub fn is_empty(&self) -> bool {
        self.free.is_empty() && self.groups.is_empty()
    }

    /// Whether it has a job that limits let start.
    pub fn is_eligible(&self) -> bool {
        !self.free.is_empty() || !self.offers.is_empty()
    }

    pub fn is_in_rings(&self) -> bool {
        self.ring_entries.first().is_some_and(|entry| entry.key.is_some())
    }

    /// The lane to serve next, and the gate it stands at.
    pub fn first(&self) -> Option<(LaneKey, Option<GateIx>)> {
        first_of(&self.free, &self.offers)
    }

    /// The same for fetches of the tenant's own workers, which do not need an offer.
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

/// All turns. A turn exists while it has lanes.
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
        self.all[ix.0 as usize].as_ref().expect("a turn exists while it is referred to")
    }

    pub fn get_mut(&mut self, ix: TurnIx) -> &mut Turn {
        self.all[ix.0 as usize].as_mut().expect("a turn exists while it is referred to")
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
