//! Placing: which turn and gate a lane stands at, and whether a turn is in the rings, parked or out.

use std::cmp::Reverse;

use rota_model::{ClassId, Seq};

use super::Scheduler;
use super::lane::LanePosition;
use super::limits::GateIx;
use super::notice::Notice;
use super::tag::{Order, fifo_order};
use super::turn::{LaneKey, RingEntry, Turn, TurnIx};
use crate::config::PriorityScope;
use crate::shard::ShardIx;
use crate::tenant::TenantIx;

/// Where a turn belongs.
#[derive(PartialEq)]
enum Placement {
    InRings,
    Parked,
    Out,
    Gone,
}

impl Scheduler {
    /// Places a lane that has jobs and is nowhere: at its first closed gate, or else at its first
    /// gate.
    pub(super) fn place_lane(&mut self, class: ClassId) {
        let mut gate = None;
        if self.class(class).waits {
            let closed = |gate: &GateIx| self.limits.opening(*gate, self.now).free == 0;
            gate = self.gates_of(class).find(closed).or_else(|| self.gates_of(class).next());
        }
        self.place_lane_at(class, gate);
    }

    pub(super) fn place_lane_at(&mut self, class: ClassId, gate: Option<GateIx>) {
        let Some(head) = self.lanes.get(class).and_then(|lane| lane.head()) else { return };
        let (shard, level) = (self.class(class).shard, self.level_of(class));
        let turn = self.turn_of(shard, level);
        let key = self.lane_key(class, head);
        if let Some(lane) = self.lanes.get_mut(class) {
            lane.position = LanePosition::Turn(turn, key, gate);
        }
        match gate {
            Some(gate) => self.join_group(turn, gate, key),
            None => {
                self.turns.get_mut(turn).free.insert(key);
                self.tenant_fetches_ready(turn);
            }
        }
        self.place_turn(turn);
    }

    /// Takes a lane out of its turn or sweep.
    pub(super) fn displace_lane(&mut self, class: ClassId) {
        let Some(lane) = self.lanes.get_mut(class) else { return };
        match std::mem::take(&mut lane.position) {
            LanePosition::Nowhere => {}
            LanePosition::Turn(turn, key, gate) => {
                match gate {
                    Some(gate) => self.leave_group(turn, gate, key),
                    None => {
                        self.turns.get_mut(turn).free.remove(&key);
                    }
                }
                self.place_turn(turn);
            }
            LanePosition::Sweep => self.sweeps.retain(|swept| *swept != class),
        }
    }

    /// The head of a lane in its turn changed.
    pub(super) fn rekey(&mut self, class: ClassId, head: Seq) {
        let new = self.lane_key(class, head);
        let Some(lane) = self.lanes.get_mut(class) else { return };
        let LanePosition::Turn(turn, old, gate) = lane.position else { return };
        lane.position = LanePosition::Turn(turn, new, gate);
        let turn_state = self.turns.get_mut(turn);
        match gate {
            None => {
                turn_state.free.remove(&old);
                turn_state.free.insert(new);
            }
            Some(gate) => {
                let Some(group) = turn_state.groups.get_mut(&gate) else { return };
                let old_first = group.first();
                group.lanes.remove(&old);
                group.lanes.insert(new);
                self.first_lane_moved(turn, gate, old_first);
            }
        }
        if !self.rules.fair {
            self.place_turn(turn);
        }
    }

    fn lane_key(&self, class: ClassId, head: Seq) -> LaneKey {
        (Reverse(self.priority_of(class)), head, class)
    }

    pub(crate) fn priority_of(&self, class: ClassId) -> i16 {
        let rules = self.class(class);
        let most = self.tenant(rules.tenant).max_priority;
        most.map_or(rules.priority, |most| rules.priority.min(most))
    }

    /// The level at which jobs of this class compete.
    pub(crate) fn level_of(&self, class: ClassId) -> i32 {
        let boost = self.tenant(self.class(class).tenant).boost;
        match self.rules.priority_scope {
            PriorityScope::Global => i32::from(self.priority_of(class)) + boost,
            PriorityScope::Tenant => boost,
        }
    }

    /// The turn of a shard at a level, created if needed.
    fn turn_of(&mut self, shard: ShardIx, level: i32) -> TurnIx {
        let shard_state = &self.shards[shard.0 as usize];
        let (queue, tenant) = (shard_state.queue, shard_state.tenant);
        let version = self.tenant(tenant).version;
        let fits = |(turn_level, turn): &&(i32, TurnIx)| {
            *turn_level == level && self.turns.get(*turn).version == version
        };
        if let Some(&(_, turn)) = shard_state.turns.iter().find(fits) {
            return turn;
        }
        let Self { accounts, queues, tenants, .. } = self;
        let weight = tenants[tenant.0 as usize].weight;
        let ring_entries = queues[queue.0 as usize].members.iter().map(|member| RingEntry {
            standing: accounts.join(member.account, tenant, level, weight),
            key: None,
        });
        let ring_entries = ring_entries.collect();
        let turn = self.turns.add(Turn {
            shard,
            queue,
            tenant,
            level,
            version,
            free: Default::default(),
            groups: Default::default(),
            offers: Default::default(),
            open_for_tenant: Default::default(),
            offered_at: Default::default(),
            parked_at: Default::default(),
            ring_entries,
            parked: false,
            yielded_up_to: None,
        });
        self.queue_mut(queue).turns.insert(turn);
        crate::exact_vec::push_exact(&mut self.shards[shard.0 as usize].turns, (level, turn));
        turn
    }

    /// Puts a turn where its lanes, tags and tenant say it belongs.
    pub(super) fn place_turn(&mut self, turn: TurnIx) {
        if !self.turns.contains(turn) {
            return;
        }
        let wanted = self.wanted_placement(turn);
        let turn_state = self.turns.get(turn);
        if turn_state.parked && wanted != Placement::Parked {
            let tenant = turn_state.tenant;
            self.tenants[tenant.0 as usize].parked.remove(&turn);
            self.turns.get_mut(turn).parked = false;
            if wanted != Placement::Gone {
                self.tenant_fetches_ready(turn);
                self.rejoin_lines(turn);
                // Groups that rejoined their lines may have been offered a start.
                self.place_turn(turn);
                return;
            }
        }
        match wanted {
            Placement::InRings => self.enter_rings(turn),
            Placement::Out => self.leave_rings(turn),
            Placement::Parked => {
                self.leave_rings(turn);
                self.park(turn);
            }
            Placement::Gone => {
                self.leave_rings(turn);
                self.drop_turn(turn);
            }
        }
    }

    fn wanted_placement(&self, turn: TurnIx) -> Placement {
        let turn_state = self.turns.get(turn);
        if turn_state.is_empty() {
            return Placement::Gone;
        }
        if self.must_park(turn) {
            return Placement::Parked;
        }
        if turn_state.is_eligible() { Placement::InRings } else { Placement::Out }
    }

    /// Parks a turn, and lists it if it has offers to withdraw.
    fn park(&mut self, turn: TurnIx) {
        let turn_state = self.turns.get_mut(turn);
        if std::mem::replace(&mut turn_state.parked, true) {
            return;
        }
        let tenant = turn_state.tenant;
        let has_offers = !turn_state.offers.is_empty();
        self.tenants[tenant.0 as usize].parked.insert(turn);
        if self.is_at_cap(tenant) {
            self.notices.push(Notice::TenantCapped(tenant));
        }
        if has_offers {
            self.to_withdraw.push_back(turn);
        }
    }

    /// Enters the rings of all of the queue's accounts, or moves to the right place in them.
    fn enter_rings(&mut self, turn: TurnIx) {
        let turn_state = self.turns.get(turn);
        let (queue, level) = (turn_state.queue, turn_state.level);
        let mut joined = false;
        for i in 0..self.turns.get(turn).ring_entries.len() {
            let RingEntry { standing, key: old } = self.turns.get(turn).ring_entries[i];
            if old.is_none() {
                self.accounts.turn_entered_rings(standing, queue);
                joined = true;
            }
            let key = self.ring_key(turn, i);
            if old == Some(key) {
                continue;
            }
            let member = &mut self.queues[queue.0 as usize].members[i];
            let ring = member.rings.entry(level).or_default();
            old.into_iter().for_each(|old| ring.remove(old, turn));
            ring.insert(key, turn);
            self.turns.get_mut(turn).ring_entries[i].key = Some(key);
        }
        if joined {
            self.queue_ready(queue);
        }
    }

    /// Leaves all rings.
    fn leave_rings(&mut self, turn: TurnIx) {
        let turn_state = self.turns.get_mut(turn);
        let (queue, level) = (turn_state.queue, turn_state.level);
        for (i, entry) in turn_state.ring_entries.iter_mut().enumerate() {
            let Some(key) = entry.key.take() else { continue };
            let member = &mut self.queues[queue.0 as usize].members[i];
            if let Some(ring) = member.rings.get_mut(&level) {
                ring.remove(key, turn);
                if ring.is_empty() {
                    member.rings.remove(&level);
                }
            }
            self.accounts.turn_left_rings(entry.standing);
        }
    }

    /// Forgets a turn without lanes.
    fn drop_turn(&mut self, turn: TurnIx) {
        let turn_state = self.turns.get_mut(turn);
        let (shard, queue) = (turn_state.shard, turn_state.queue);
        let ring_entries = std::mem::take(&mut turn_state.ring_entries);
        self.shards[shard.0 as usize].turns.retain(|(_, ix)| *ix != turn);
        self.queue_mut(queue).turns.remove(&turn);
        self.turns.remove(turn);
        ring_entries.into_iter().for_each(|entry| self.accounts.leave(entry.standing, queue));
    }

    fn ring_key(&self, turn: TurnIx, entry_ix: usize) -> Order {
        let turn_state = self.turns.get(turn);
        match turn_state.first() {
            Some(((_, head, _), _)) if !self.rules.fair => fifo_order(head),
            _ => self.accounts.get(turn_state.ring_entries[entry_ix].standing).order(),
        }
    }

    /// Whether a turn must stay out of the rings: its tenant is at its cap or paused in the queue, or
    /// the turn's level is out of date.
    pub(super) fn must_park(&self, turn: TurnIx) -> bool {
        let turn_state = self.turns.get(turn);
        self.shards[turn_state.shard.0 as usize].paused
            || self.is_at_cap(turn_state.tenant)
            || self.is_out_of_date(turn)
    }

    /// Whether a tenant has as many active jobs as its cap allows.
    pub(super) fn is_at_cap(&self, tenant: TenantIx) -> bool {
        let tenant = self.tenant(tenant);
        tenant.cap.is_some_and(|cap| tenant.active >= u64::from(cap))
    }

    /// Places a tenant's parked turns, after its cap or a pause may have ended.
    pub(super) fn place_parked_turns(&mut self, tenant: TenantIx) {
        let parked: Vec<TurnIx> = self.tenant(tenant).parked.iter().copied().collect();
        parked.into_iter().for_each(|turn| self.place_turn(turn));
    }
}
