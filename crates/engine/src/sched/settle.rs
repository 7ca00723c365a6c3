//! Letting lanes through gates that have opened.
//!
//! As many lanes as there are starts open are let in at once. The others of an open gate stay behind
//! it, and the gate stands in the queue's line by who of them is first: that turn is let in when it
//! comes before all that may be served. So nobody who waits for a key loses its place, and a start
//! costs the same however many wait and however many keys there are.

use rota_model::ClassId;

use super::turn::{Order, came};
use super::{Place, QueueIx, Seat, ShardIx, Tag, TurnIx};
use crate::Engine;
use crate::limit::{GateIx, Lanes, Rank, Told};

impl Engine {
    /// Goes over the gates at which something has changed.
    pub(crate) fn settle_gates(&mut self) {
        while let Some(gate) = self.unsettled.pop() {
            if self.limits.has_gate(gate) {
                self.settle_gate(gate);
            }
        }
    }

    fn settle_gate(&mut self, gate: GateIx) {
        let lots = self.limits.gate(gate).lots.iter();
        let waiting = lots.filter(|(_, lot)| lot.has_parked()).map(|(ix, _)| *ix);
        let queues: Vec<QueueIx> = waiting.collect();
        if queues.is_empty() {
            return;
        }
        let opening = self.limits.opening(gate, self.now);
        if let Some(opens) = opening.closed.and_then(|closed| closed.opens) {
            self.limits.look_at(gate, opens.max(0) as u64);
        }
        for queue in queues {
            while let Some(lot) = self.limits.gate(gate).lots.get(&queue)
                && lot.inside < opening.free
                && let Some(rank) = self.first_behind(gate, queue)
            {
                self.call_in(gate, queue, rank);
            }
            self.line_up(gate, queue, opening.free > 0);
            self.limits.gate_mut(gate).drop_if_empty(queue);
        }
    }

    /// Who is first of those that wait for this gate.
    fn first_behind(&mut self, gate: GateIx, queue: QueueIx) -> Option<Rank> {
        loop {
            let (rank, waiting) = self.limits.gate(gate).lots.get(&queue)?.first()?;
            let order = self.order_behind(gate, rank, waiting);
            if order <= rank.1 {
                return Some(rank);
            }
            self.limits.gate_mut(gate).lots.get_mut(&queue)?.put_back(rank.2, order);
        }
    }

    /// Where a group stands now.
    fn order_behind(&self, gate: GateIx, (_, known, turn): Rank, waiting: &Lanes) -> Order {
        let heads = || waiting.keys().filter_map(|class| self.lanes.get(*class)?.head());
        if !self.config.fairness.enabled {
            return heads().min().map_or(Order::default(), came);
        }
        let is = self.turns.get(turn);
        let own = (is.tag, is.since);
        if own > known && self.keeps_its_place(gate, turn, waiting) {
            return (known.0, is.since);
        }
        own
    }

    /// A tenant that was served otherwise while it waited for a key keeps its place among others who
    /// wait for it: one that wants nothing but this key would always be first. But not if it would
    /// start something else first, or has already had a job before its turn.
    fn keeps_its_place(&self, gate: GateIx, turn: TurnIx, waiting: &Lanes) -> bool {
        let is = self.turns.get(turn);
        let head = |class: &ClassId| Some(self.lane_key(*class, self.lanes.get(*class)?.head()?));
        let Some(first) = waiting.keys().filter_map(head).min() else { return false };
        let one_job = Tag::step(self.cost_of(first.2), self.effective_weight(self.tenant_of(turn)));
        is.lanes.first().is_none_or(|other| first < *other)
            && is.tag <= self.round_of(turn).plus(one_job)
            && self.limits.is_shared_in(gate, is.queue)
    }

    /// A gate stands in the queue's line while it is open and somebody waits for it.
    fn line_up(&mut self, gate: GateIx, queue: QueueIx, open: bool) {
        let first = if open { self.first_behind(gate, queue) } else { None };
        let Some(lot) = self.limits.gate_mut(gate).lots.get_mut(&queue) else { return };
        let was = std::mem::replace(&mut lot.in_line, first);
        if was == first {
            return;
        }
        let at = self.queues.get_mut(queue);
        if let Some(rank) = was {
            at.line.remove(&(rank, gate));
            self.turns.find_mut(rank.2).map(|turn| turn.leads.remove(&gate));
        }
        if let Some(rank) = first {
            at.line.insert((rank, gate));
            self.turns.get_mut(rank.2).leads.insert(gate);
            if !at.waiters.is_empty() {
                self.awake.push(queue);
            }
        }
    }

    /// Lets in, one after the other, the turns behind open gates that come before all others; and of
    /// the turn that is served next all that may be served, since it chooses among its own lanes.
    pub(crate) fn let_first_in(&mut self, ix: QueueIx) {
        loop {
            let queue = self.queues.get(ix);
            let (first, waits) = (queue.first_rank(), queue.line.first());
            let leads = first.and_then(|(_, _, turn)| self.turns.get(turn).leads.first());
            let (gate, turn) = match (leads, waits, first) {
                (Some(&gate), _, Some((_, _, turn))) => (gate, turn),
                (_, Some(&(rank, gate)), first) if first.is_none_or(|first| rank <= first) => {
                    (gate, rank.2)
                }
                _ => return,
            };
            if let Some(rank) = self.first_behind(gate, ix).filter(|rank| rank.2 == turn) {
                self.call_in(gate, ix, rank);
            }
            self.line_up(gate, ix, true);
        }
    }

    /// Somebody wants jobs of one tenant only: others that come first do not keep its lanes behind
    /// gates that are open.
    pub(crate) fn let_shard_in(&mut self, shard: ShardIx) {
        let queue = self.shards.get(shard).queue;
        for (_, turn) in self.shards.get(shard).turns.clone() {
            let (groups, line) = (&self.turns.get(turn).groups, &self.queues.get(queue).line);
            let gates: Vec<GateIx> = if groups.len() < line.len() {
                groups.iter().copied().filter(|gate| self.is_in_line(*gate, queue)).collect()
            } else {
                line.iter().map(|(_, gate)| *gate).filter(|gate| groups.contains(gate)).collect()
            };
            for gate in gates {
                self.let_turn_in(gate, queue, turn);
                self.line_up(gate, queue, true);
            }
        }
    }

    fn is_in_line(&self, gate: GateIx, queue: QueueIx) -> bool {
        self.limits.gate(gate).lots.get(&queue).is_some_and(|lot| lot.in_line.is_some())
    }

    /// All lanes of a turn that have jobs, those behind gates too.
    pub(crate) fn lanes_of_turn(&self, turn: TurnIx) -> impl Iterator<Item = ClassId> {
        let is = self.turns.get(turn);
        let lots = is.groups.iter().filter_map(|gate| self.limits.gate(*gate).lots.get(&is.queue));
        let free = is.lanes.iter().map(|&(_, _, class)| class);
        free.chain(lots.flat_map(move |lot| lot.waiting(turn)))
    }

    /// A turn's job starts: its other lanes that wait for the same keys, with numbers of their own, have
    /// had their part as well.
    pub(crate) fn give_up_places(&mut self, turn: TurnIx, class: ClassId) {
        let is = self.turns.get(turn);
        if is.groups.is_empty() || !self.config.fairness.enabled {
            return;
        }
        let (queue, own) = (is.queue, (is.tag, is.since));
        let limits =
            self.classes.slot(class).gates.iter().map(|gate| self.limits.gate(*gate).limit);
        let gates = limits.flat_map(|limit| self.limits.limit(limit).gates.iter().copied());
        let gates: Vec<GateIx> = gates.filter(|gate| is.groups.contains(gate)).collect();
        for gate in gates {
            if let Some(lot) = self.limits.gate_mut(gate).lots.get_mut(&queue) {
                lot.put_back(turn, own);
            }
        }
    }

    /// Lets in whoever is first, to be served as its place at the gate says and not only when it is its
    /// turn again.
    fn call_in(&mut self, gate: GateIx, queue: QueueIx, (_, order, turn): Rank) {
        self.let_turn_in(gate, queue, turn);
        let is = self.turns.get_mut(turn);
        if self.config.fairness.enabled && matches!(is.seat, Seat::Ring(_)) {
            let before = is.called.map_or((is.tag, is.since), |(_, before)| before);
            if order < before {
                is.called = Some((gate, order));
                self.seat(turn);
            }
        }
    }

    fn let_turn_in(&mut self, gate: GateIx, queue: QueueIx, turn: TurnIx) {
        let Some(lot) = self.limits.gate_mut(gate).lots.get_mut(&queue) else { return };
        let group = lot.take(turn);
        self.turns.get_mut(turn).groups.remove(&gate);
        for (class, told) in group {
            self.pass(gate, class, turn, told);
        }
        self.seat(turn);
    }

    /// One lane need not wait here any more.
    pub(crate) fn leave_lot(&mut self, gate: GateIx, turn: TurnIx, class: ClassId) {
        let queue = self.turns.get(turn).queue;
        let Some(lot) = self.limits.gate_mut(gate).lots.get_mut(&queue) else { return };
        let last = lot.unpark(turn, class);
        let open = lot.in_line.is_some();
        if last {
            self.turns.get_mut(turn).groups.remove(&gate);
        }
        self.line_up(gate, queue, open);
        self.limits.gate_mut(gate).drop_if_empty(queue);
    }

    /// A lane has passed one gate; there may be another.
    fn pass(&mut self, gate: GateIx, class: ClassId, turn: TurnIx, told: Option<Told>) {
        if let Some(lane) = self.lanes.get_mut(class) {
            lane.place = Place::Nowhere;
        }
        if let Some(told) = told {
            self.tell_open(gate, class, told);
        }
        for i in 0..self.classes.slot(class).gates.len() {
            let other = self.classes.slot(class).gates[i];
            if other == gate {
                continue;
            }
            let opening = self.limits.opening(other, self.now);
            if opening.free == 0 {
                self.park(class, other, turn, opening.closed);
                return;
            }
        }
        self.enter_turn(class, turn);
    }

    /// A lane is about to be served: others of its turn that wait for the same keys come in first, or
    /// the younger of a tenant's jobs would overtake the older. Whether there were any.
    pub(crate) fn reunite(&mut self, class: ClassId, turn: TurnIx) -> bool {
        let groups = &self.turns.get(turn).groups;
        let gates = self.classes.slot(class).gates.iter().copied();
        let Some(gate) = gates.into_iter().find(|gate| groups.contains(gate)) else { return false };
        let queue = self.turns.get(turn).queue;
        self.let_turn_in(gate, queue, turn);
        self.line_up(gate, queue, true);
        true
    }
}
