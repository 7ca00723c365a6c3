//! Letting lanes through gates that have opened.

use rota_model::ClassId;

use super::{Place, QueueIx, ShardIx, TurnIx};
use crate::limit::{GateIx, Told};
use crate::{Engine, EventKind};

impl Engine {
    /// Goes over the gates at which something has changed.
    pub(crate) fn settle_gates(&mut self) {
        while let Some(gate) = self.unsettled.pop() {
            if self.limits.has_gate(gate) {
                self.settle_gate(gate);
            }
        }
    }

    /// Lets in as many turns in each queue as there are starts open, the first in order first; for
    /// one that comes before them, the last of those that were let in goes back.
    fn settle_gate(&mut self, gate: GateIx) {
        if self.limits.gate(gate).lots.is_empty() {
            return;
        }
        let waiting = |lot: &crate::limit::Lot| lot.has_parked();
        let lots = &self.limits.gate(gate).lots;
        let queues: Vec<QueueIx> =
            lots.iter().filter(|(_, lot)| waiting(lot)).map(|(ix, _)| *ix).collect();
        if queues.is_empty() {
            return;
        }
        let opening = self.limits.opening(gate, self.now);
        if opening.free == 0 {
            if let Some(opens) = opening.closed.and_then(|closed| closed.opens) {
                self.limits.look_at(gate, opens.max(0) as u64);
            }
            return;
        }
        for queue in queues {
            self.let_in(gate, queue, opening.free);
        }
    }

    fn let_in(&mut self, gate: GateIx, queue: QueueIx, free: u64) {
        loop {
            let Engine { limits, turns, .. } = self;
            let Some(lot) = limits.gate_mut(gate).lots.get_mut(&queue) else { return };
            let Some(turn) = lot.next(|turn| (turns.get(turn).tag, turns.get(turn).since)) else {
                return;
            };
            if lot.nominees() as u64 >= free {
                let worst = lot.worst();
                match worst {
                    Some(worst) if self.rank_of(turn) < worst => self.withdraw(gate, worst.2),
                    _ => return,
                }
            }
            self.let_turn_in(gate, queue, turn);
        }
    }

    fn let_turn_in(&mut self, gate: GateIx, queue: QueueIx, turn: TurnIx) {
        let Some(lot) = self.limits.gate_mut(gate).lots.get_mut(&queue) else { return };
        let group = lot.take(turn);
        if lot.is_empty() {
            self.limits.gate_mut(gate).lots.remove(&queue);
        }
        self.turns.get_mut(turn).groups.remove(&gate);
        for (class, told) in group {
            self.pass(gate, class, turn, told);
        }
        self.seat(turn);
    }

    /// Somebody wants jobs of one tenant only: others that come first do not keep its lanes behind
    /// gates that are open.
    pub(crate) fn let_shard_in(&mut self, shard: ShardIx) {
        let queue = self.shards.get(shard).queue;
        for (_, turn) in self.shards.get(shard).turns.clone() {
            let gates: Vec<GateIx> = self.turns.get(turn).groups.iter().copied().collect();
            for gate in gates {
                if self.limits.opening(gate, self.now).free > 0 {
                    self.let_turn_in(gate, queue, turn);
                }
            }
        }
    }

    /// A lane has passed one gate; there may be another.
    fn pass(&mut self, gate: GateIx, class: ClassId, turn: TurnIx, told: Option<Told>) {
        if let Some(lane) = self.lanes.get_mut(class) {
            lane.place = Place::Nowhere;
        }
        if let Some(told) = told {
            self.tell_released(gate, class, told);
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
        self.reunite(class, turn);
    }

    /// A lane has come into its turn: others of the turn that wait for the same come in with it.
    pub(crate) fn reunite(&mut self, class: ClassId, turn: TurnIx) {
        for i in 0..self.classes.slot(class).gates.len() {
            let gate = self.classes.slot(class).gates[i];
            let is = self.turns.get(turn);
            let (parted, queue) = (is.groups.contains(&gate), is.queue);
            if parted && self.limits.opening(gate, self.now).free > 0 {
                self.let_turn_in(gate, queue, turn);
            }
        }
    }

    fn tell_released(&mut self, gate: GateIx, class: ClassId, (strategy, since): Told) {
        let Some(head) = self.lanes.get(class).and_then(|lane| lane.head()) else { return };
        let waited = self.now.mono.saturating_sub(since);
        let limit = self.limits.limit_mut(self.limits.gate(gate).limit);
        limit.waits.get_or_insert_default().record(waited);
        let (key, tenant) = (limit.partition.key.clone(), limit.partition.tenant.clone());
        let job = self.job_ref(head, class);
        self.emit(EventKind::LimitReleased { key, tenant, strategy, job });
    }
}
