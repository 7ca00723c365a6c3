//! Which of several queues is next.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{QueueStrategy, Starvation, Weight};

use super::notice::Notice;
use super::queue_turns::MOST_BEHIND;
use super::rotations::RotationRules;
use super::tag::Tag;
use crate::queue::QueueIx;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RotationIx(pub u32);

/// How the queues of a pool take turns, or those of fetches without a pool that name the same.
///
/// Only queues that may have something to serve are in its orders; the others are asleep, and are
/// woken when they do. So a decision costs the same however many queues there are.
pub(super) struct Rotation {
    queues: Vec<QueueIx>,
    places: BTreeMap<QueueIx, u32>,
    strategy: QueueStrategy,
    rule: Starvation,
    /// For fetches of one tenant only: whoever decides says which queues have something for it.
    own: bool,
    /// The part of all dispatches that each queue is guaranteed, in millionths.
    ratio: i64,
    round: Tag,
    dispatches: i64,
    slots: Vec<Slot>,
    /// How many jobs it has handed out.
    served: u64,
    /// Awake queues by strategy, by what they are owed, and by since when they have got nothing.
    by_turn: BTreeSet<(u128, u64, u32)>,
    by_owed: BTreeSet<(i64, u32)>,
    by_since: BTreeSet<(u64, u32)>,
    /// Those that have got nothing for too long, which was said.
    starved: BTreeSet<(u64, u32)>,
    /// Queues that woke up since the last decision.
    woken: Vec<u32>,
    /// Queues that were served since that was last written down.
    changed: BTreeSet<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    weight: Weight,
    tag: Tag,
    /// When it was last served: among equal tags the queue that was not for longest goes first.
    served: u64,
    awake: bool,
    available: u64,
    since: Option<u64>,
    /// It was said that it has got nothing for too long.
    told: bool,
    /// What it is owed is `dispatches * ratio` less this, in millionths of a dispatch.
    paid: i64,
    /// What it is owed when it wakes up for the first time.
    in_advance: i64,
}

/// A queue's claim to be next: what it is owed, how long it has gone without, its turn, its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(i64, u64, (u128, u64), usize);

impl Rank {
    /// It goes first whatever the strategy says.
    pub fn is_owed(self) -> bool {
        self.0 < 0 || self.1 < u64::MAX
    }
}

const ONE: i64 = 1_000_000;

impl Rotation {
    pub fn new(strategy: QueueStrategy, rule: Starvation) -> Self {
        Self {
            queues: Vec::new(),
            places: BTreeMap::new(),
            strategy,
            rule,
            own: false,
            ratio: 0,
            round: Tag::default(),
            dispatches: 0,
            slots: Vec::new(),
            served: 0,
            by_turn: BTreeSet::new(),
            by_owed: BTreeSet::new(),
            by_since: BTreeSet::new(),
            starved: BTreeSet::new(),
            woken: Vec::new(),
            changed: BTreeSet::new(),
        }
    }

    /// Other queues, weights or rules from now on. All queues are asleep; what is remembered of those
    /// that stay is kept. A weight that changes counts from the next job: what was charged by the old
    /// one keeps a queue waiting for no more than one job by the new.
    pub fn configure(&mut self, rules: &RotationRules) {
        let RotationRules { queues, strategy, starvation, named, own, .. } = rules;
        self.set_queues(queues);
        (self.strategy, self.rule, self.own) = (*strategy, *starvation, *own);
        self.ratio = i64::from(starvation.ratio_among(*named));
    }

    /// A queue is gone for good.
    pub fn remove(&mut self, queue: QueueIx) {
        let all = self.queues.iter().zip(&self.slots).map(|(queue, slot)| (*queue, slot.weight));
        let rest: Vec<_> = all.filter(|(known, _)| *known != queue).collect();
        self.set_queues(&rest);
    }

    fn set_queues(&mut self, queues: &[(QueueIx, Weight)]) {
        let base = self.dispatches * self.ratio;
        let mut old = BTreeMap::new();
        for (queue, slot) in self.queues.iter().zip(&self.slots) {
            let owed = if slot.awake { (base - slot.paid).max(0) } else { slot.in_advance };
            old.insert(*queue, (*slot, owed));
        }
        let (round, slots) = (self.round, queues.iter());
        self.slots = slots
            .map(|&(queue, weight)| {
                let known = old.get(&queue).map(|(slot, owed)| {
                    let most = round.plus(Tag::step(1, weight));
                    let tag = if slot.weight == weight { slot.tag } else { slot.tag.min(most) };
                    (tag, slot.served, *owed, slot.since, slot.told)
                });
                let (tag, served, in_advance, since, told) = known.unwrap_or_default();
                let (awake, available, paid) = (false, 0, 0);
                Slot { weight, tag, served, awake, available, since, told, paid, in_advance }
            })
            .collect();
        self.queues = queues.iter().map(|(queue, _)| *queue).collect();
        self.places = self.queues.iter().copied().zip(0..).collect();
        (self.dispatches, self.woken) = (0, Vec::new());
        self.changed.clear();
        self.by_since.clear();
        self.starved.clear();
        self.by_turn.clear();
        self.by_owed.clear();
    }

    pub fn queues(&self) -> &[QueueIx] {
        &self.queues
    }

    pub fn round(&self) -> Tag {
        self.round
    }

    /// Its strategy, and its queues with their weights.
    pub fn made_from(&self) -> (QueueStrategy, Vec<(QueueIx, Weight)>) {
        let weights = self.slots.iter().map(|slot| slot.weight);
        (self.strategy, self.queues.iter().copied().zip(weights).collect())
    }

    pub fn place(&self, queue: QueueIx) -> Option<u32> {
        self.places.get(&queue).copied()
    }

    pub fn is_strict(&self) -> bool {
        self.strategy == QueueStrategy::Strict
    }

    pub fn orders_by_depth(&self) -> bool {
        self.strategy == QueueStrategy::LeastLoaded
    }

    /// Queues are guaranteed a part, or go first when they have gone without for too long.
    pub fn guarantees(&self) -> bool {
        self.rule.enabled
    }

    pub fn is_own(&self) -> bool {
        self.own
    }

    pub fn is_ready(&self, queue: QueueIx) -> bool {
        self.place(queue).is_some_and(|place| self.slots[place as usize].awake)
    }

    /// A queue may have something to serve.
    pub fn wake(&mut self, place: u32, available: u64) {
        let base = self.dispatches * self.ratio;
        let slot = &mut self.slots[place as usize];
        if std::mem::replace(&mut slot.awake, true) {
            return;
        }
        slot.paid = base - std::mem::take(&mut slot.in_advance);
        slot.tag = slot.tag.max(self.round);
        slot.available = available;
        self.by_owed.insert((slot.paid, place));
        let (key, served) = self.turn_key(place);
        self.by_turn.insert((key, served, place));
        let slot = &self.slots[place as usize];
        match (slot.since, slot.told) {
            (None, _) => self.woken.push(place),
            (Some(since), told) => {
                let list = if told { &mut self.starved } else { &mut self.by_since };
                list.insert((since, place));
            }
        }
    }

    /// A queue has nothing to serve: it is owed nothing, and has not gone without.
    pub fn put_to_sleep(&mut self, place: u32) {
        let (key, served) = self.turn_key(place);
        let slot = &mut self.slots[place as usize];
        if !std::mem::replace(&mut slot.awake, false) {
            return;
        }
        self.by_turn.remove(&(key, served, place));
        self.by_owed.remove(&(slot.paid, place));
        slot.told = false;
        if let Some(since) = slot.since.take() {
            self.by_since.remove(&(since, place));
            self.starved.remove(&(since, place));
        }
    }

    pub fn depth_changed(&mut self, place: u32, available: u64) {
        let (key, served) = self.turn_key(place);
        let slot = &mut self.slots[place as usize];
        slot.available = available;
        if slot.awake {
            let (new, _) = self.turn_key(place);
            self.by_turn.remove(&(key, served, place));
            self.by_turn.insert((new, served, place));
        }
    }

    fn turn_key(&self, place: u32) -> (u128, u64) {
        let slot = &self.slots[place as usize];
        match self.strategy {
            QueueStrategy::Strict => (0, 0),
            QueueStrategy::RoundRobin | QueueStrategy::Weighted => (slot.tag.0, slot.served),
            QueueStrategy::LeastLoaded => (u128::from(u64::MAX - slot.available), 0),
        }
    }

    /// Says of queues that have just gone without for too long that they have.
    pub fn note_starved(&mut self, mono: u64, notices: &mut Vec<Notice>) {
        for place in std::mem::take(&mut self.woken) {
            let slot = &mut self.slots[place as usize];
            if slot.awake && slot.since.is_none() {
                slot.since = Some(mono);
                self.by_since.insert((mono, place));
            }
        }
        while let Some(&(since, place)) = self.by_since.first()
            && mono.saturating_sub(since) > self.rule.rotation_ms
        {
            self.by_since.pop_first();
            self.starved.insert((since, place));
            self.slots[place as usize].told = true;
            let (queue, for_ms) = (self.queues[place as usize], mono - since);
            if !self.own {
                notices.push(Notice::QueueStarved { queue, for_ms });
            }
        }
    }

    /// The queue that is next, and whether because it is owed a dispatch or has gone without.
    pub fn first(&mut self, mono: u64, notices: &mut Vec<Notice>) -> Option<(QueueIx, bool)> {
        self.note_starved(mono, notices);
        if self.rule.enabled {
            let owed = self.by_owed.first().filter(|(paid, _)| self.is_owed(*paid));
            let claim = owed.map(|(_, place)| *place).or(self.starved.first().map(|one| one.1));
            if let Some(place) = claim {
                return Some((self.queues[place as usize], true));
            }
        }
        let &(_, _, place) = self.by_turn.first()?;
        Some((self.queues[place as usize], false))
    }

    /// Without this dispatch it would be owed more than one.
    fn is_owed(&self, paid: i64) -> bool {
        self.ratio > 0 && self.dispatches * self.ratio - paid + self.ratio >= ONE
    }

    /// A queue's claim among some that were named in this order.
    pub fn rank(&self, queue: QueueIx, named: usize, mono: u64) -> Rank {
        let none = Rank(0, u64::MAX, (u128::MAX, 0), named);
        let Some(place) = self.place(queue) else { return none };
        let slot = &self.slots[place as usize];
        let owed = self.dispatches * self.ratio - slot.paid;
        let claims = self.rule.enabled && slot.awake && self.is_owed(slot.paid);
        let starved = slot.since.filter(|since| {
            self.rule.enabled && mono.saturating_sub(*since) > self.rule.rotation_ms
        });
        let turn = self.turn_key(place);
        Rank(if claims { -1 - owed } else { 0 }, starved.unwrap_or(u64::MAX), turn, named)
    }

    /// A job of this queue was handed out.
    pub fn served(&mut self, queue: QueueIx, mono: u64) {
        let Some(place) = self.place(queue) else { return };
        self.changed.insert(place);
        let step = Tag::step(1, self.weight(place));
        let (key, served) = self.turn_key(place);
        let slot = &mut self.slots[place as usize];
        let owed = (self.dispatches * self.ratio - slot.paid + self.ratio - ONE).max(0);
        self.dispatches += 1;
        self.served += 1;
        let paid = slot.paid;
        let start = slot.tag.max(self.round.minus(MOST_BEHIND * step));
        slot.paid = self.dispatches * self.ratio - owed;
        self.round = self.round.max(start);
        (slot.tag, slot.served) = (start.plus(step), self.served);
        if !slot.awake {
            return;
        }
        self.by_owed.remove(&(paid, place));
        self.by_owed.insert((slot.paid, place));
        slot.told = false;
        if let Some(since) = slot.since.replace(mono) {
            self.by_since.remove(&(since, place));
            self.starved.remove(&(since, place));
        }
        self.by_since.insert((mono, place));
        let (new, now) = self.turn_key(place);
        self.by_turn.remove(&(key, served, place));
        self.by_turn.insert((new, now, place));
    }

    fn weight(&self, place: u32) -> Weight {
        match self.strategy {
            QueueStrategy::Weighted => self.slots[place as usize].weight,
            _ => Weight::ONE,
        }
    }

    /// How far a job moves this queue on, where queues take turns.
    pub fn step(&self, queue: QueueIx) -> Option<u128> {
        let turns = matches!(self.strategy, QueueStrategy::RoundRobin | QueueStrategy::Weighted);
        let place = self.place(queue).filter(|_| turns)?;
        Some(Tag::step(1, self.weight(place)))
    }

    /// The round, and the tags of queues that were served since the last call; `None` if none was.
    pub fn take_changed(&mut self) -> Option<(Tag, Vec<(QueueIx, Tag)>)> {
        let changed = std::mem::take(&mut self.changed);
        let tag = |place: u32| (self.queues[place as usize], self.slots[place as usize].tag);
        let tags: Vec<_> = changed.into_iter().map(tag).collect();
        (!tags.is_empty()).then_some((self.round, tags))
    }

    /// As it was before a restart. What each queue was owed is not known: as much as could have been,
    /// so that nobody who is guaranteed a part starves, however often the process is restarted.
    pub fn restore(&mut self, round: Tag, tags: impl Iterator<Item = (QueueIx, Tag)>) {
        self.round = round;
        let awake: Vec<u32> = self.by_turn.iter().map(|(_, _, place)| *place).collect();
        awake.iter().for_each(|place| self.put_to_sleep(*place));
        for (queue, tag) in tags {
            if let Some(place) = self.place(queue) {
                // By the weight that it has now, it is at most one job ahead.
                let slot = &mut self.slots[place as usize];
                slot.tag = tag.min(round.plus(Tag::step(1, slot.weight)));
            }
        }
        self.owe_all();
        for place in awake {
            let available = self.slots[place as usize].available;
            self.wake(place, available);
        }
    }

    pub fn owe_all(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.in_advance = ONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotation(weights: &[f64], by: QueueStrategy, rule: Starvation) -> Rotation {
        let one = |(i, weight): (usize, &f64)| (QueueIx(i as u32), Weight::new(*weight).unwrap());
        let queues: Vec<_> = weights.iter().enumerate().map(one).collect();
        let mut rotation = Rotation::new(by, rule);
        rotation.configure(&rules(queues, by, rule));
        (0..weights.len()).for_each(|place| rotation.wake(place as u32, place as u64));
        rotation
    }

    fn rules(
        queues: Vec<(QueueIx, Weight)>,
        strategy: QueueStrategy,
        starvation: Starvation,
    ) -> RotationRules {
        let (named, shared, own) = (queues.len(), false, false);
        RotationRules { queues, strategy, starvation, named, shared, own }
    }

    fn serve(rotation: &mut Rotation, mono: u64) -> usize {
        let (queue, _) = rotation.first(mono, &mut Vec::new()).unwrap();
        rotation.served(queue, mono);
        queue.0 as usize
    }

    #[test]
    fn round_robin_goes_around_and_weights_hold_in_every_few_rounds() {
        let rule = Starvation::default();
        let mut all = rotation(&[1.0, 1.0, 1.0], QueueStrategy::RoundRobin, rule);
        let served: Vec<usize> = (0..6).map(|_| serve(&mut all, 0)).collect();
        assert_eq!(served, [0, 1, 2, 0, 1, 2]);

        let mut all = rotation(&[5.0, 2.0, 1.0], QueueStrategy::Weighted, rule);
        let served: Vec<usize> = (0..800).map(|_| serve(&mut all, 0)).collect();
        for window in served.windows(16) {
            let count = |queue| window.iter().filter(|q| **q == queue).count() as i64;
            for (queue, due) in [(0, 10), (1, 4), (2, 2)] {
                assert!((count(queue) - due).abs() <= 1, "{queue} of {window:?}");
            }
        }
    }

    #[test]
    fn a_queue_gets_its_guaranteed_part_of_any_run() {
        let rule = Starvation { enabled: true, rotation_ms: u64::MAX, min_ratio: Some(100_000) };
        let mut all = rotation(&[1.0, 1.0, 1.0], QueueStrategy::Strict, rule);
        let served: Vec<usize> = (0..1_000).map(|_| serve(&mut all, 0)).collect();
        for n in [20, 50, 100, 333] {
            for window in served.windows(n) {
                for queue in 0..3 {
                    let got = window.iter().filter(|q| **q == queue).count();
                    assert!(got >= (n / 10).saturating_sub(1), "{queue} got {got} of {n}");
                }
            }
        }
        assert!(served.iter().filter(|q| **q == 0).count() >= 790);
    }

    #[test]
    fn the_deepest_queue_is_first_and_a_starved_one_is_told_once() {
        let rule = Starvation { enabled: true, rotation_ms: 1_000, min_ratio: Some(0) };
        let mut all = rotation(&[1.0, 1.0], QueueStrategy::LeastLoaded, rule);
        assert_eq!(serve(&mut all, 0), 1);
        all.served(QueueIx(1), 1_500);
        let mut notices = Vec::new();
        assert_eq!(all.first(2_000, &mut notices), Some((QueueIx(0), true)));
        let starved = Notice::QueueStarved { queue: QueueIx(0), for_ms: 2_000 };
        assert_eq!(format!("{notices:?}"), format!("{:?}", [starved]));
        all.first(2_001, &mut notices);
        assert_eq!(notices.len(), 1);
    }

    #[test]
    fn a_weight_that_changes_counts_from_the_next_job() {
        let rule = Starvation::default();
        let mut all = rotation(&[1.0, 1_000.0, 1_000.0], QueueStrategy::Weighted, rule);
        (0..2_500).for_each(|_| {
            serve(&mut all, 0);
        });
        let raised = [0, 1, 2].map(|n| (QueueIx(n), Weight::new(1_000.0).unwrap()));
        all.configure(&rules(raised.to_vec(), QueueStrategy::Weighted, rule));
        (0..3).for_each(|place| all.wake(place, 0));
        let served: Vec<usize> = (0..6).map(|_| serve(&mut all, 0)).collect();
        assert!(served[..4].contains(&0), "{served:?}");
        assert_eq!(served.iter().filter(|q| **q == 0).count(), 2, "{served:?}");
    }
}
