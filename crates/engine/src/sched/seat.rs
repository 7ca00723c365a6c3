//! Where a turn stands: in its level's ring, or out of it.

use std::collections::BTreeMap;

use rota_model::{ClassId, State, Weight};

use super::turn::came;
use super::{Order, QueueIx, Seat, Tag, TurnIx};
use crate::Engine;
use crate::config::{Cost, FairStrategy};
use crate::tenant::TenantIx;

#[derive(PartialEq)]
enum Wanted {
    Ring,
    Parked,
    Out,
    Gone,
}

impl Engine {
    /// Puts a turn where it belongs, given its lanes, its tag and its tenant.
    pub(crate) fn seat(&mut self, turn: TurnIx) {
        let wanted = self.wanted_seat(turn);
        let is = self.turns.get(turn);
        let (queue, level) = (is.queue, is.level);
        match is.seat {
            Seat::Ring(key) => {
                if wanted == Wanted::Ring {
                    self.move_in_ring(turn, key);
                    return;
                }
                let place = self.queues.get_mut(queue).levels.entry(level).or_default();
                place.ring.remove(&(key, turn));
                self.note_open(queue, level);
            }
            Seat::Parked if wanted == Wanted::Parked => return,
            Seat::Parked => {
                let tenant = self.tenant_of(turn);
                self.tenants.get_mut(tenant).parked.remove(&turn);
            }
            Seat::Idle(tag) => {
                let place = self.queues.get_mut(queue).levels.entry(level).or_default();
                place.idle.remove(&(tag, turn));
            }
            Seat::Out => {}
        }
        let is = self.turns.get_mut(turn);
        is.seat = Seat::Out;
        if wanted != Wanted::Ring {
            is.called = None;
        }
        match wanted {
            Wanted::Ring => self.join_ring(turn),
            Wanted::Parked => {
                let tenant = self.tenant_of(turn);
                self.tenants.get_mut(tenant).parked.insert(turn);
                self.turns.get_mut(turn).seat = Seat::Parked;
                self.tell_capped(tenant);
            }
            Wanted::Out => {}
            Wanted::Gone => self.rest(turn),
        }
        self.clear_idle(queue, level);
    }

    fn wanted_seat(&self, turn: TurnIx) -> Wanted {
        let is = self.turns.get(turn);
        if is.lanes.is_empty() {
            return if is.groups.is_empty() { Wanted::Gone } else { Wanted::Out };
        }
        let shard = self.shards.get(is.shard);
        if shard.paused.is_some() || self.is_at_cap(shard.tenant) {
            return Wanted::Parked;
        }
        Wanted::Ring
    }

    /// A turn that was out begins in the present round at the earliest.
    fn join_ring(&mut self, turn: TurnIx) {
        let is = self.turns.get(turn);
        let (queue, level) = (is.queue, is.level);
        let round = self.queues.get_mut(queue).levels.entry(level).or_default().round;
        let is = self.turns.get_mut(turn);
        is.tag = is.tag.max(round);
        let key = self.ring_key(turn);
        let at = self.queues.get_mut(queue);
        let place = at.levels.entry(level).or_default();
        place.ring.insert((key, turn));
        at.open.insert(level);
        if !at.waiters.is_empty() {
            self.awake.push(queue);
        }
        self.turns.get_mut(turn).seat = Seat::Ring(key);
    }

    fn move_in_ring(&mut self, turn: TurnIx, old: Order) {
        let key = self.ring_key(turn);
        let is = self.turns.get(turn);
        if key != old {
            let (queue, level) = (is.queue, is.level);
            let place = self.queues.get_mut(queue).levels.entry(level).or_default();
            place.ring.remove(&(old, turn));
            place.ring.insert((key, turn));
            self.turns.get_mut(turn).seat = Seat::Ring(key);
        }
    }

    fn ring_key(&self, turn: TurnIx) -> Order {
        let is = self.turns.get(turn);
        let fair = self.config.fairness.enabled;
        match is.lanes.first() {
            Some(&(_, head, _)) if !fair => came(head),
            _ => is.called.map_or((is.tag, is.since), |(_, order)| order.min((is.tag, is.since))),
        }
    }

    /// Nothing of this turn waits. Its tag is kept until the round has passed it.
    fn rest(&mut self, turn: TurnIx) {
        let is = self.turns.get(turn);
        let (queue, level, tag) = (is.queue, is.level, is.tag);
        let place = self.queues.get_mut(queue).levels.entry(level).or_default();
        if tag > place.round {
            place.idle.insert((tag, turn));
            self.turns.get_mut(turn).seat = Seat::Idle(tag);
        } else {
            self.drop_turn(turn);
        }
    }

    /// Something is about to wait in this turn again: it must not be forgotten with the idle ones,
    /// even if that is only behind a gate.
    pub(crate) fn rouse(&mut self, turn: TurnIx) {
        let is = self.turns.get_mut(turn);
        if let Seat::Idle(tag) = is.seat {
            is.seat = Seat::Out;
            let (queue, level) = (is.queue, is.level);
            let place = self.queues.get_mut(queue).levels.entry(level).or_default();
            place.idle.remove(&(tag, turn));
        }
    }

    /// Forgets idle turns that the round has passed; all of them when nobody waits at all.
    pub(crate) fn clear_idle(&mut self, queue: QueueIx, level: i32) {
        loop {
            let place = self.queues.get_mut(queue).levels.entry(level).or_default();
            let Some(&(tag, turn)) = place.idle.first() else { return };
            if place.idle.len() == place.turns as usize {
                place.round = place.round.max(tag);
            }
            if tag > place.round {
                return;
            }
            place.idle.pop_first();
            self.drop_turn(turn);
        }
    }

    fn drop_turn(&mut self, turn: TurnIx) {
        let is = self.turns.get(turn);
        let (shard, queue, level) = (is.shard, is.queue, is.level);
        self.shards.get_mut(shard).turns.retain(|(_, ix)| *ix != turn);
        let place = self.queues.get_mut(queue).levels.entry(level).or_default();
        place.turns -= 1;
        self.turns.remove(turn);
    }

    fn note_open(&mut self, queue: QueueIx, level: i32) {
        let at = self.queues.get_mut(queue);
        if at.levels.get(&level).is_none_or(|place| place.ring.is_empty()) {
            at.open.remove(&level);
        }
    }

    pub(crate) fn tenant_of(&self, turn: TurnIx) -> TenantIx {
        self.shards.get(self.turns.get(turn).shard).tenant
    }

    /// The tag that a turn has or would begin with.
    pub(crate) fn tag_now(&self, turn: TurnIx) -> Tag {
        self.turns.get(turn).tag.max(self.round_of(turn))
    }

    /// The present round where a turn is served.
    pub(crate) fn round_of(&self, turn: TurnIx) -> Tag {
        let is = self.turns.get(turn);
        let level = self.queues.get(is.queue).levels.get(&is.level);
        level.map_or(Tag::default(), |level| level.round)
    }

    /// A tenant has as many active jobs as it may have.
    pub(crate) fn is_at_cap(&self, tenant: TenantIx) -> bool {
        let cap = self.cap_of(tenant);
        cap.is_some_and(|cap| self.tenants.get(tenant).jobs.count(State::Active) >= u64::from(cap))
    }

    pub(crate) fn cap_of(&self, tenant: TenantIx) -> Option<u32> {
        let own = self.tenants.get(tenant).config().max_concurrency;
        match self.config.fairness.strategy {
            FairStrategy::Strict => Some(own.unwrap_or(self.config.fairness.default_concurrency)),
            FairStrategy::Weighted | FairStrategy::RoundRobin => own,
        }
    }

    /// The weight that an operator gave a tenant.
    pub(crate) fn weight_of(&self, tenant: TenantIx) -> Weight {
        let tenant = self.tenants.get(tenant);
        if self.config.fairness.strategy == FairStrategy::RoundRobin {
            return Weight::ONE;
        }
        tenant.config().weight.unwrap_or(self.config.fairness.default_weight)
    }

    /// The weight by which a tenant is served now.
    pub(crate) fn effective_weight(&self, tenant: TenantIx) -> Weight {
        let throttled = self.tenants.get(tenant).throttled(self.wall());
        throttled.unwrap_or_else(|| self.weight_of(tenant))
    }

    /// A turn's job was handed out at this cost.
    pub(crate) fn charge(&mut self, turn: TurnIx, cost: u64) {
        let weight = self.effective_weight(self.tenant_of(turn));
        let is = self.turns.get_mut(turn);
        let (queue, level) = (is.queue, is.level);
        let place = self.queues.get_mut(queue).levels.entry(level).or_default();
        // Who is served out of turn, because somebody wants its jobs only, moves nobody's round.
        let first = place.ring.first().map_or(is.tag, |((tag, _), _)| *tag);
        place.round = place.round.max(is.tag.min(first));
        // It may be behind the round by what was given back to it, and that stays its own.
        is.tag = is.tag.plus(Tag::step(cost, weight));
        is.since = is.tag;
        is.called = None;
    }

    /// After a start: tags and limits are as they were, so rounds, turns and lots follow from them.
    pub(crate) fn find_places_anew(&mut self) {
        let waiting: Vec<TurnIx> = self.turns.iter().map(|(ix, _)| ix).collect();
        let mut rounds = BTreeMap::new();
        for &turn in &waiting {
            let is = self.turns.get(turn);
            let round = rounds.entry((is.queue, is.level)).or_insert(is.tag);
            *round = is.tag.min(*round);
        }
        for (&(queue, level), &round) in &rounds {
            let place = self.queues.get_mut(queue).levels.entry(level).or_default();
            place.round = round;
        }
        for turn in waiting {
            let one = Tag::step(self.cost_unit(), self.effective_weight(self.tenant_of(turn)));
            let is = self.turns.get_mut(turn);
            // A tag from a round that ended long ago may not keep its tenant waiting for more than one.
            is.tag = is.tag.min(rounds[&(is.queue, is.level)].plus(one));
            is.since = is.tag;
            self.seat(turn);
        }
        let lanes: Vec<ClassId> = self.lanes.classes().collect();
        for class in lanes {
            self.displace_lane(class);
            self.place_lane(class);
        }
        self.settle_gates();
    }

    fn cost_unit(&self) -> u64 {
        match self.config.fairness.cost {
            Cost::Job => 1,
            Cost::Runtime => 60_000,
        }
    }

    /// What a tenant was charged by a weight that it has no more does not keep it waiting for longer
    /// than a round by the present one.
    pub(crate) fn forgive(&mut self, tenant: TenantIx) {
        let one = Tag::step(self.cost_unit(), self.effective_weight(tenant));
        let shards = self.tenants.get(tenant).shards.iter();
        let turns = shards.flat_map(|shard| &self.shards.get(*shard).turns);
        let turns: Vec<TurnIx> = turns.map(|(_, turn)| *turn).collect();
        for turn in turns {
            let is = self.turns.get(turn);
            let level = self.queues.get(is.queue).levels.get(&is.level);
            let most = level.map_or(is.tag, |level| level.round.plus(one));
            let (tag, since) = (is.tag.min(most), is.since.min(most));
            let is = self.turns.get_mut(turn);
            (is.tag, is.since) = (tag, since);
            self.seat(turn);
        }
    }

    /// Seats all turns that a tenant's own limit or pause keeps out, or no longer does.
    pub(crate) fn reseat_tenant(&mut self, tenant: TenantIx) {
        let parked: Vec<TurnIx> = self.tenants.get(tenant).parked.iter().copied().collect();
        parked.into_iter().for_each(|turn| self.seat(turn));
    }
}
