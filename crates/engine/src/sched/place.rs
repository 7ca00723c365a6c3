//! Where a lane stands: in its tenant's turn, or behind a gate.

use std::cmp::Reverse;

use rota_model::mutation::Counts;
use rota_model::{ClassId, OnLimit, Seq, State};

use super::turn::came;
use super::{LaneKey, Place, QueueIx, Seat, ShardIx, Size, Turn, TurnIx, Waiting, push_to_few};
use crate::Engine;
use crate::config::PriorityScope;
use crate::limit::{Closed, GateIx, Rank};
use crate::tenant::TenantIx;

impl Engine {
    /// A job is ready: it joins its lane and may be handed out. It must not be counted anywhere.
    pub(crate) fn enter_lane(&mut self, seq: Seq, class: ClassId, job: Waiting) {
        let since = if job.fresh { None } else { Some(self.wall()) };
        let job = Waiting { since, ..job };
        self.count_in(class, State::Available, job.size);
        let lane = self.lanes.get_or_make(class);
        let was = lane.head();
        lane.add(seq, job);
        let is = lane.head();
        self.count_available(class, 1);
        self.head_moved(class, was, is);
        let ix = self.classes.slot(class).queue;
        if !self.queues.get(ix).waiters.is_empty() {
            self.awake.push(ix);
        }
    }

    /// Jobs of this class that a start has put into their lane, one by one, are counted, and the lane
    /// finds its place.
    pub(crate) fn count_refilled(&mut self, class: ClassId, jobs: u64, bytes: u64) {
        let slot = self.classes.slot(class);
        let (queue, shard, tenant) = (slot.queue, slot.shard, slot.tenant);
        self.queues.get_mut(queue).jobs.refill(jobs, bytes);
        let shard = self.shards.get_mut(shard);
        shard.jobs.refill(jobs, bytes);
        self.meters.at(shard.meter).jobs.refill(jobs, bytes);
        self.tenants.get_mut(tenant).jobs.refill(jobs, bytes);
        self.count_competitor(tenant);
        self.count_available(class, jobs as i64);
        let head = self.lanes.get(class).and_then(|lane| lane.head());
        self.note_head(class, None, head);
        self.place_lane(class);
    }

    /// Takes a waiting job out of its lane.
    pub(crate) fn leave_lane(&mut self, seq: Seq, class: ClassId) {
        let Some(lane) = self.lanes.get_mut(class) else {
            debug_assert!(false, "an available job is in its lane");
            return;
        };
        let was = lane.head();
        let Some(size) = lane.remove(seq) else {
            debug_assert!(false, "an available job is in its lane");
            return;
        };
        let is = lane.head();
        self.count_available(class, -1);
        self.head_moved(class, was, is);
        self.count_out(class, State::Available, size);
    }

    /// Takes the oldest job of a lane. The turn that it stands in is seated by the caller.
    pub(crate) fn pop_lane(&mut self, class: ClassId) -> Option<(Seq, Waiting)> {
        let lane = self.lanes.get_mut(class)?;
        let (seq, job) = lane.pop()?;
        let (is, place) = (lane.head(), lane.place);
        self.count_available(class, -1);
        self.note_head(class, Some(seq), is);
        match (place, is) {
            (Place::Turn(turn, old), Some(head)) => self.rekey(class, turn, old, head),
            (Place::Turn(turn, old), None) => self.leave_turn(class, turn, old),
            _ => {}
        }
        if is.is_none() && !matches!(place, Place::Sweep(_)) {
            self.lanes.remove_if_empty(class);
        }
        self.count_out(class, State::Available, job.size);
        Some((seq, job))
    }

    fn head_moved(&mut self, class: ClassId, was: Option<Seq>, is: Option<Seq>) {
        if was == is {
            return;
        }
        self.note_head(class, was, is);
        let place = self.lanes.get(class).map_or(Place::Nowhere, |lane| lane.place);
        match (place, is) {
            (Place::Nowhere, Some(_)) => self.place_lane(class),
            (_, None) => {
                self.displace_lane(class);
                self.lanes.remove_if_empty(class);
            }
            (Place::Turn(turn, old), Some(head)) => {
                self.rekey(class, turn, old, head);
                self.seat(turn);
            }
            (Place::Lot(..) | Place::Sweep(_), Some(_)) => {}
        }
    }

    fn note_head(&mut self, class: ClassId, was: Option<Seq>, is: Option<Seq>) {
        let ix = self.classes.slot(class).queue;
        if let Some(heads) = &mut self.queues.get_mut(ix).heads {
            was.map(|seq| heads.remove(&(seq, class)));
            is.map(|seq| heads.insert((seq, class)));
        }
    }

    fn count_available(&mut self, class: ClassId, by: i64) {
        for gate in self.classes.slot(class).gates.iter() {
            let available = &mut self.limits.gate_mut(*gate).available;
            *available = available.saturating_add_signed(by);
        }
    }

    /// Finds its place for a lane that has jobs and stands nowhere.
    pub(crate) fn place_lane(&mut self, class: ClassId) {
        let slot = self.classes.slot(class);
        let (ix, shard) = (slot.queue, slot.shard);
        let turn = self.turn_of(shard, ix, self.level_of(class));
        if self.waits_at_limits(class) {
            for i in 0..self.classes.slot(class).gates.len() {
                let gate = self.classes.slot(class).gates[i];
                if let Some(closed) = self.keeps_out(gate, ix) {
                    self.park(class, gate, turn, closed);
                    return;
                }
            }
        }
        self.enter_turn(class, turn);
        self.seat(turn);
    }

    /// Whether a lane must stay behind the gate for now: because it is closed, or because there are
    /// others already for all that is open.
    fn keeps_out(&self, gate: GateIx, ix: QueueIx) -> Option<Option<Closed>> {
        let opening = self.limits.opening(gate, self.now);
        if opening.free == 0 {
            return Some(opening.closed);
        }
        let inside = self.limits.gate(gate).lots.get(&ix).map_or(0, |lot| lot.inside);
        (inside >= opening.free).then_some(None)
    }

    /// Puts a lane that stands nowhere behind a gate; with a reason when it is closed.
    pub(crate) fn park(
        &mut self,
        class: ClassId,
        gate: GateIx,
        turn: TurnIx,
        closed: Option<Closed>,
    ) {
        let (rank, ix) = (self.rank_at(gate, turn, class), self.turns.get(turn).queue);
        let told = closed.map(|closed| (closed.strategy, self.now.mono));
        let lot = self.limits.gate_mut(gate).lots.entry(ix).or_default();
        lot.park(rank, class, told);
        self.turns.get_mut(turn).groups.insert(gate);
        if let Some(lane) = self.lanes.get_mut(class) {
            lane.place = Place::Lot(gate, turn);
        }
        match closed {
            Some(closed) => {
                if let Some(opens) = closed.opens {
                    self.limits.look_at(gate, opens.max(0) as u64);
                }
                self.tell_closed(gate, class, &closed);
            }
            // It is open, and this lane takes its place in the queue's line.
            None => self.unsettled.push(gate),
        }
    }

    /// Takes a lane out of wherever it stands.
    pub(crate) fn displace_lane(&mut self, class: ClassId) {
        let Some(lane) = self.lanes.get_mut(class) else { return };
        match std::mem::take(&mut lane.place) {
            Place::Nowhere => {}
            Place::Turn(turn, head) => {
                self.leave_turn(class, turn, head);
                self.seat(turn);
            }
            Place::Lot(gate, turn) => {
                self.leave_lot(gate, turn, class);
                self.seat(turn);
            }
            Place::Sweep(_) => self.sweeps.retain(|swept| *swept != class),
        }
    }

    pub(crate) fn leave_its_turn(&mut self, class: ClassId) {
        let place = self.lanes.get(class).map(|lane| lane.place);
        if let Some(Place::Turn(turn, head)) = place {
            self.leave_turn(class, turn, head);
        }
    }

    pub(crate) fn enter_turn(&mut self, class: ClassId, turn: TurnIx) {
        let Some(head) = self.lanes.get(class).and_then(|lane| lane.head()) else { return };
        let key = self.lane_key(class, head);
        self.turns.get_mut(turn).lanes.insert(key);
        if self.waits_at_limits(class) {
            let slot = self.classes.slot(class);
            for gate in &slot.gates {
                self.limits.gate_mut(*gate).lots.entry(slot.queue).or_default().inside += 1;
            }
        }
        if let Some(lane) = self.lanes.get_mut(class) {
            lane.place = Place::Turn(turn, head);
        }
    }

    fn leave_turn(&mut self, class: ClassId, turn: TurnIx, head: Seq) {
        let key = self.lane_key(class, head);
        let found = self.turns.get_mut(turn).lanes.remove(&key);
        debug_assert!(found, "a lane is in its turn under its head");
        if self.waits_at_limits(class) {
            let slot = self.classes.slot(class);
            for gate in &slot.gates {
                let at = self.limits.gate_mut(*gate);
                let Some(lot) = at.lots.get_mut(&slot.queue) else { continue };
                lot.inside -= 1;
                if lot.has_parked() {
                    self.unsettled.push(*gate);
                }
                at.drop_if_empty(slot.queue);
            }
        }
        if let Some(lane) = self.lanes.get_mut(class) {
            lane.place = Place::Nowhere;
        }
    }

    fn rekey(&mut self, class: ClassId, turn: TurnIx, old: Seq, head: Seq) {
        let (from, to) = (self.lane_key(class, old), self.lane_key(class, head));
        let lanes = &mut self.turns.get_mut(turn).lanes;
        lanes.remove(&from);
        lanes.insert(to);
        if let Some(lane) = self.lanes.get_mut(class) {
            lane.place = Place::Turn(turn, head);
        }
    }

    pub(super) fn lane_key(&self, class: ClassId, head: Seq) -> LaneKey {
        (Reverse(self.priority_of(class)), head, class)
    }

    /// Whether the jobs of this class wait when a limit is reached.
    pub(crate) fn waits_at_limits(&self, class: ClassId) -> bool {
        let policy = &self.classes.slot(class).class.policy;
        policy.limit.as_ref().is_none_or(|limit| limit.on_limit == OnLimit::Wait)
    }

    pub(crate) fn priority_of(&self, class: ClassId) -> i16 {
        let slot = self.classes.slot(class);
        let most = self.tenants.get(slot.tenant).config().max_priority;
        most.map_or(slot.class.priority, |most| slot.class.priority.min(most))
    }

    /// The level of priority at which the jobs of this class compete with others.
    pub(crate) fn level_of(&self, class: ClassId) -> i32 {
        let boost = self.tenants.get(self.classes.slot(class).tenant).config().priority_boost;
        match self.config.fairness.priority_scope {
            PriorityScope::Global => i32::from(self.priority_of(class)) + boost,
            PriorityScope::Tenant => boost,
        }
    }

    /// The rank of a lane that begins to wait; whom the gate has called keeps its place. Where fairness
    /// is off, jobs go in the order in which they came.
    fn rank_at(&self, gate: GateIx, turn: TurnIx, class: ClassId) -> Rank {
        let is = self.turns.get(turn);
        let head = self.lanes.get(class).and_then(|lane| lane.head());
        let order = match (head, is.called) {
            (Some(head), _) if !self.config.fairness.enabled => came(head),
            (_, Some((by, order))) if by == gate => order,
            _ if matches!(is.seat, Seat::Ring(_)) => (is.tag, is.since),
            _ => (self.tag_now(turn), is.since),
        };
        (Reverse(is.level), order, turn)
    }

    fn turn_of(&mut self, shard: ShardIx, queue: QueueIx, level: i32) -> TurnIx {
        let turns = &self.shards.get(shard).turns;
        if let Some(&(_, turn)) = turns.iter().find(|(at, _)| *at == level) {
            self.rouse(turn);
            return turn;
        }
        let place = self.queues.get_mut(queue).levels.entry(level).or_default();
        place.turns += 1;
        let tag = place.round;
        let turn = self.turns.add(Turn {
            shard,
            queue,
            level,
            tag,
            since: tag,
            lanes: Default::default(),
            groups: Default::default(),
            leads: Default::default(),
            called: None,
            seat: Seat::Out,
            served: false,
        });
        push_to_few(&mut self.shards.get_mut(shard).turns, (level, turn));
        turn
    }

    /// A living job of this class is in this state now.
    pub(crate) fn count_in(&mut self, class: ClassId, state: State, size: Size) {
        let slot = self.classes.slot(class);
        let (queue, shard, tenant) = (slot.queue, slot.shard, slot.tenant);
        self.queues.get_mut(queue).jobs.enter(state, size);
        let shard = self.shards.get_mut(shard);
        shard.jobs.enter(state, size);
        self.meters.at(shard.meter).jobs.enter(state, size);
        let owner = self.tenants.get_mut(tenant);
        owner.jobs.enter(state, size);
        if owner.competing == 0 && owner.competes() {
            self.count_competitor(tenant);
        }
    }

    /// And not any more.
    pub(crate) fn count_out(&mut self, class: ClassId, state: State, size: Size) {
        let slot = self.classes.slot(class);
        let (ix, shard, tenant) = (slot.queue, slot.shard, slot.tenant);
        let queue = self.queues.get_mut(ix);
        queue.jobs.leave(state, size);
        if queue.row.settings.bounds.is_some() {
            self.relieved.push(ix);
        }
        let shard = self.shards.get_mut(shard);
        shard.jobs.leave(state, size);
        self.meters.at(shard.meter).jobs.leave(state, size);
        let owner = self.tenants.get_mut(tenant);
        owner.jobs.leave(state, size);
        owner.told_capped &= owner.jobs.count(State::Available) > 0;
        if owner.competing > 0 && !owner.competes() {
            self.tenants.compete(tenant, None);
        }
    }

    /// Of the finished jobs of this class, others are kept now.
    pub(crate) fn count_kept(&mut self, class: ClassId, change: impl Fn(&mut Counts)) {
        let slot = self.classes.slot(class);
        change(&mut self.queues.get_mut(slot.queue).done);
        change(&mut self.shards.get_mut(slot.shard).done);
    }

    /// Its weight, or whether it competes at all, has changed.
    pub(crate) fn count_competitor(&mut self, tenant: TenantIx) {
        let weight = self.effective_weight(tenant);
        let competes = self.tenants.get(tenant).competes();
        self.tenants.compete(tenant, competes.then_some(weight));
    }
}
