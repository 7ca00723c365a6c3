//! A rotation: how several queues take turns.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{QueueStrategy, Weight};

use super::late_order::LateOrder;
use super::parts::Parts;
use super::queue_turns::MOST_BEHIND;
use super::rotation_rules::RotationRules;
use super::tag::Tag;
use crate::queue::QueueIx;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RotationIx(pub u32);

/// The rotation of a pool, or of a set of queues that fetches without a pool name.
///
/// Only queues that may have something to serve are in its orders. The others are asleep until they
/// do, so the cost of a decision does not depend on the number of queues. What queues are owed is in
/// [`Parts`], which rotations may share.
pub(super) struct Rotation {
    queues: Vec<QueueIx>,
    positions: BTreeMap<QueueIx, u32>,
    strategy: QueueStrategy,
    /// For fetches of one tenant. Queues are not woken by events; each decision finds those with work
    /// for the tenant.
    for_tenant: bool,
    round: Tag,
    slots: Vec<Slot>,
    /// Number of jobs dispatched.
    served: u64,
    /// Recent dispatches to fetches that could have had any of the queues.
    pub asked: i64,
    /// Queues that are awake: by strategy, by what they are owed, and by when they were last served.
    /// The last number is the queue's position.
    by_turn: BTreeSet<(u128, u64, u32)>,
    by_owed: LateOrder<i64>,
    by_since: LateOrder<u64>,
    /// Positions of the queues served since the last `take_changed`.
    changed: BTreeSet<u32>,
}

/// A queue in a rotation.
#[derive(Debug, Clone, Copy)]
struct Slot {
    weight: Weight,
    tag: Tag,
    /// The value of `Rotation::served` when the queue was last served. Among equal tags, the smallest
    /// goes first.
    served: u64,
    awake: bool,
    available: u64,
}

/// A queue's claim to be next: what it is owed, since when it was not served, its key by strategy, and
/// its position among the named queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueRank(i64, u64, (u128, u64), usize);

impl QueueRank {
    /// Whether the claim comes before the strategy.
    pub fn is_owed(self) -> bool {
        self.0 < i64::MAX || self.1 < u64::MAX
    }
}

impl Rotation {
    pub fn new(strategy: QueueStrategy) -> Self {
        Self {
            queues: Vec::new(),
            positions: BTreeMap::new(),
            strategy,
            for_tenant: false,
            round: Tag::default(),
            slots: Vec::new(),
            served: 0,
            asked: 0,
            by_turn: BTreeSet::new(),
            by_owed: LateOrder::default(),
            by_since: LateOrder::default(),
            changed: BTreeSet::new(),
        }
    }

    /// Applies new queues, weights and strategy. All queues are asleep afterwards; those that stay
    /// keep their tags. A tag charged by an old weight is clamped to one job ahead of the round.
    pub fn configure(&mut self, rules: &RotationRules) {
        self.set_queues(&rules.queues);
        (self.strategy, self.for_tenant) = (rules.strategy, rules.for_tenant);
    }

    /// A queue is gone for good.
    pub fn remove(&mut self, queue: QueueIx) {
        let all = self.queues.iter().zip(&self.slots).map(|(queue, slot)| (*queue, slot.weight));
        let rest: Vec<_> = all.filter(|(other, _)| *other != queue).collect();
        self.set_queues(&rest);
    }

    fn set_queues(&mut self, queues: &[(QueueIx, Weight)]) {
        let old: BTreeMap<QueueIx, Slot> =
            self.queues.iter().copied().zip(self.slots.iter().copied()).collect();
        let (round, slots) = (self.round, queues.iter());
        self.slots = slots
            .map(|&(queue, weight)| {
                let old_state = old.get(&queue).map(|slot| {
                    let most = round.plus(Tag::step(1, weight));
                    let tag = if slot.weight == weight { slot.tag } else { slot.tag.min(most) };
                    (tag, slot.served)
                });
                let (tag, served) = old_state.unwrap_or_default();
                Slot { weight, tag, served, awake: false, available: 0 }
            })
            .collect();
        self.queues = queues.iter().map(|(queue, _)| *queue).collect();
        self.positions = self.queues.iter().copied().zip(0..).collect();
        self.asked = 0;
        self.changed.clear();
        self.by_turn.clear();
        self.by_owed.clear();
        self.by_since.clear();
    }

    pub fn queues(&self) -> &[QueueIx] {
        &self.queues
    }

    pub fn round(&self) -> Tag {
        self.round
    }

    /// The strategy, and the queues with their weights.
    pub fn made_from(&self) -> (QueueStrategy, Vec<(QueueIx, Weight)>) {
        let weights = self.slots.iter().map(|slot| slot.weight);
        (self.strategy, self.queues.iter().copied().zip(weights).collect())
    }

    pub fn position(&self, queue: QueueIx) -> Option<u32> {
        self.positions.get(&queue).copied()
    }

    pub fn is_strict(&self) -> bool {
        self.strategy == QueueStrategy::Strict
    }

    pub fn orders_by_depth(&self) -> bool {
        self.strategy == QueueStrategy::LeastLoaded
    }

    pub fn is_for_tenant(&self) -> bool {
        self.for_tenant
    }

    pub fn is_ready(&self, queue: QueueIx) -> bool {
        self.position(queue).is_some_and(|position| self.slots[position as usize].awake)
    }

    /// A queue may have something to serve.
    pub fn wake(&mut self, position: u32, available: u64, parts: &Parts) {
        let slot = &mut self.slots[position as usize];
        if std::mem::replace(&mut slot.awake, true) {
            return;
        }
        slot.tag = slot.tag.max(self.round);
        slot.available = available;
        let (key, served) = self.turn_key(position);
        self.by_turn.insert((key, served, position));
        self.claim(position, parts);
    }

    fn claim(&mut self, position: u32, parts: &Parts) {
        let queue = self.queues[position as usize];
        self.by_owed.insert(position, parts.key(queue));
        self.by_since.insert(position, parts.since(queue, 0));
    }

    /// Switches to other parts.
    pub fn move_to(&mut self, parts: &Parts) {
        let awake: Vec<u32> = self.by_turn.iter().map(|(_, _, position)| *position).collect();
        awake.into_iter().for_each(|position| self.claim(position, parts));
    }

    /// A queue has nothing to serve.
    pub fn put_to_sleep(&mut self, position: u32) {
        let (key, served) = self.turn_key(position);
        let slot = &mut self.slots[position as usize];
        if std::mem::replace(&mut slot.awake, false) {
            self.by_turn.remove(&(key, served, position));
            self.by_owed.remove(position);
            self.by_since.remove(position);
        }
    }

    pub fn depth_changed(&mut self, position: u32, available: u64) {
        let (key, served) = self.turn_key(position);
        let slot = &mut self.slots[position as usize];
        slot.available = available;
        if slot.awake {
            let (new, _) = self.turn_key(position);
            self.by_turn.remove(&(key, served, position));
            self.by_turn.insert((new, served, position));
        }
    }

    /// The sort key of a queue by the rotation's strategy.
    fn turn_key(&self, position: u32) -> (u128, u64) {
        let slot = &self.slots[position as usize];
        match self.strategy {
            QueueStrategy::Strict => (0, 0),
            QueueStrategy::RoundRobin | QueueStrategy::Weighted => (slot.tag.0, slot.served),
            QueueStrategy::LeastLoaded => (u128::from(u64::MAX - slot.available), 0),
        }
    }

    /// The next queue, and whether it goes first because it is owed a dispatch or starved.
    pub fn first(&mut self, parts: &Parts, mono: u64) -> Option<(QueueIx, bool)> {
        let queue = |position: u32| self.queues[position as usize];
        let owed =
            self.by_owed.first(|key| parts.is_owed(key), |position| parts.key(queue(position)));
        let claim = owed.or_else(|| {
            let starved = |since| parts.is_starved(since, mono);
            self.by_since.first(starved, |position| parts.since(queue(position), mono))
        });
        if let Some(position) = claim {
            return Some((queue(position), true));
        }
        let &(_, _, position) = self.by_turn.first()?;
        Some((queue(position), false))
    }

    /// A queue's claim among queues that a fetch named; `named` is its index there.
    pub fn rank(&self, queue: QueueIx, named: usize, parts: &Parts, mono: u64) -> QueueRank {
        let none = QueueRank(i64::MAX, u64::MAX, (u128::MAX, 0), named);
        let Some(position) = self.position(queue) else { return none };
        let claims = self.slots[position as usize].awake && parts.is_owed(parts.key(queue));
        let since = Some(parts.since(queue, mono)).filter(|since| parts.is_starved(*since, mono));
        let turn = self.turn_key(position);
        let owed = if claims { parts.key(queue) } else { i64::MAX };
        QueueRank(owed, since.unwrap_or(u64::MAX), turn, named)
    }

    /// Counts a dispatch from this queue.
    pub fn served(&mut self, queue: QueueIx) {
        let Some(position) = self.position(queue) else { return };
        self.changed.insert(position);
        let step = Tag::step(1, self.weight(position));
        let (key, served) = self.turn_key(position);
        let slot = &mut self.slots[position as usize];
        self.served += 1;
        let start = slot.tag.max(self.round.minus(MOST_BEHIND * step));
        self.round = self.round.max(start);
        (slot.tag, slot.served) = (start.plus(step), self.served);
        if slot.awake {
            let (new, now) = self.turn_key(position);
            self.by_turn.remove(&(key, served, position));
            self.by_turn.insert((new, now, position));
        }
    }

    fn weight(&self, position: u32) -> Weight {
        match self.strategy {
            QueueStrategy::Weighted => self.slots[position as usize].weight,
            _ => Weight::ONE,
        }
    }

    /// How far a job moves the queue's tag, for strategies with tags.
    pub fn step(&self, queue: QueueIx) -> Option<u128> {
        let turns = matches!(self.strategy, QueueStrategy::RoundRobin | QueueStrategy::Weighted);
        let position = self.position(queue).filter(|_| turns)?;
        Some(Tag::step(1, self.weight(position)))
    }

    /// The round, and the tags of queues served since the last call; `None` if there are none.
    pub fn take_changed(&mut self) -> Option<(Tag, Vec<(QueueIx, Tag)>)> {
        let changed = std::mem::take(&mut self.changed);
        let tag =
            |position: u32| (self.queues[position as usize], self.slots[position as usize].tag);
        let tags: Vec<_> = changed.into_iter().map(tag).collect();
        (!tags.is_empty()).then_some((self.round, tags))
    }

    /// Restores the stored round and tags.
    pub fn restore(&mut self, round: Tag, tags: impl Iterator<Item = (QueueIx, Tag)>) {
        self.round = round;
        for (queue, tag) in tags {
            if let Some(position) = self.position(queue) {
                // By its current weight, the queue is at most one job ahead.
                let slot = &mut self.slots[position as usize];
                slot.tag = tag.min(round.plus(Tag::step(1, slot.weight)));
            }
        }
        self.by_turn.clear();
        for position in 0..self.slots.len() as u32 {
            let slot = &mut self.slots[position as usize];
            if slot.awake {
                slot.tag = slot.tag.max(round);
                let (key, served) = self.turn_key(position);
                self.by_turn.insert((key, served, position));
            }
        }
    }
}
