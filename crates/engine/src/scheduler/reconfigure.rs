//! Reconfiguration: new rules for queues, tenants, classes, limits and pools, applied to jobs that
//! already wait.

use std::collections::BTreeSet;

use rota_model::{ClassId, JobType, PoolName, QueueName, TenantId, WorkerId};

use super::Scheduler;
use super::limits::{GateIx, LimitIx, LimitSettings};
use super::pool::PoolChange;
use super::state::{ClassRules, NewShard, Shard, Tenant, TenantRules};
use super::tag::Tag;
use super::turn::TurnIx;
use crate::WaiterId;
use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::tenant::TenantIx;

/// A change of rules.
pub(crate) enum Reconfigured {
    /// A queue's pause, its cap of active jobs, and whether it drops its oldest jobs when it is full.
    Queue {
        queue: QueueIx,
        paused: bool,
        cap: Option<u32>,
        drops_oldest: bool,
    },
    /// The gate of a whole queue, or none.
    QueueGate(QueueIx, Option<GateIx>),
    /// The settings of the limit on a whole queue have changed.
    QueueLimitChanged(QueueIx),
    /// A tenant's new rules, applied to all of its lanes at once. For tenants with few lanes; see
    /// `rule_changes.rs` for others.
    Tenant(TenantIx, TenantRules),
    /// Whether a tenant is paused in a queue.
    Shard(ShardIx, bool),
    /// The gates that jobs of a class must pass, besides those of their queue and type.
    Gates(ClassId, Box<[GateIx]>),
    /// The limit of a type was set or removed.
    Type(JobType),
    /// A tenant's own part of a shared key was paused, or is no longer (`None`).
    OwnPart {
        shared: LimitIx,
        tenant: TenantIx,
        part: Option<LimitIx>,
    },
    /// The class has no jobs left.
    ClassGone(ClassId),
    /// A limit's new settings.
    LimitSettings(LimitIx, LimitSettings),
    Pool(PoolName, PoolChange),
    /// All waiting fetches may be served: pools have changed, or maintenance is over.
    All,
}

impl Scheduler {
    pub fn reconfigured(&mut self, change: Reconfigured) {
        match change {
            Reconfigured::Queue { queue, paused, cap, drops_oldest } => {
                let queue_state = self.queue_mut(queue);
                (queue_state.paused, queue_state.cap) = (paused, cap);
                self.keep_heads(queue, drops_oldest);
                self.queue_ready(queue);
                self.all_tenant_fetches_ready(queue);
            }
            Reconfigured::QueueGate(queue, gate) => self.set_queue_gate(queue, gate),
            Reconfigured::QueueLimitChanged(queue) => {
                self.queue_ready(queue);
                self.all_tenant_fetches_ready(queue);
            }
            Reconfigured::Tenant(tenant, rules) => self.set_tenant(tenant, rules),
            Reconfigured::Shard(shard, paused) => {
                self.shards[shard.0 as usize].paused = paused;
                let turns = self.shards[shard.0 as usize].turns.clone();
                turns.into_iter().for_each(|(_, turn)| self.place_turn_and_wake(turn));
            }
            Reconfigured::Gates(class, gates) => self.set_gates(class, gates),
            Reconfigured::Type(name) => self.type_limit_changed(&name),
            Reconfigured::OwnPart { shared, tenant, part } => {
                self.set_own_part(shared, tenant, part);
            }
            Reconfigured::ClassGone(class) => self.class_gone(class),
            Reconfigured::LimitSettings(limit, settings) => {
                self.set_limit_settings(limit, settings)
            }
            Reconfigured::Pool(name, change) => {
                self.pools.put(name.clone(), change);
                if self.pools.fair(&name).is_some() {
                    self.to_serve_pools.insert(name);
                }
            }
            Reconfigured::All => {
                for queue in (0..self.queues.len() as u32).map(QueueIx) {
                    self.queue_ready(queue);
                    self.all_tenant_fetches_ready(queue);
                }
            }
        }
    }

    pub fn add_tenant(&mut self, ix: TenantIx, id: TenantId, rules: TenantRules) {
        let TenantRules { weight, cap, boost, max_priority } = rules;
        let (active, shards, parked) = (0, Vec::new(), BTreeSet::new());
        let version = 0;
        let tenant =
            Tenant { id, weight, cap, boost, max_priority, version, active, shards, parked };
        self.tenants.put(ix.0 as usize, tenant);
    }

    /// Adds a shard. `position` is its index among the tenant's shards.
    pub fn add_shard(&mut self, ix: ShardIx, shard: NewShard, position: usize) {
        let NewShard { queue, tenant, paused } = shard;
        self.shards.put(ix.0 as usize, Shard { queue, tenant, paused, turns: Vec::new() });
        self.shard_of.insert((queue, tenant), ix);
        crate::exact_vec::insert_exact(&mut self.tenants[tenant.0 as usize].shards, position, ix);
    }

    pub fn add_class(&mut self, class: ClassId, rules: ClassRules) {
        let index = class.0 as usize;
        while self.classes.len() <= index {
            self.classes.push(None);
        }
        self.classes[index] = Some(rules);
    }

    fn class_gone(&mut self, class: ClassId) {
        if let Some(rules) = self.classes[class.0 as usize].take() {
            for gate in rules.gates {
                self.limits.leave_gate(gate);
            }
            self.leave_type(rules.kind);
        }
    }

    /// Lists a queue to be tried by waiting fetches of single tenants.
    pub(super) fn all_tenant_fetches_ready(&mut self, queue: QueueIx) {
        if !self.fetches.has_tenant_fetches_for(queue) {
            return;
        }
        let turns = &self.queue(queue).turns;
        let ids: Vec<TenantId> = if turns.len() > self.fetches.count_for_tenants(queue) {
            self.fetches.tenants_waiting_for(queue).into_iter().collect()
        } else {
            let ids = turns.iter().map(|turn| &self.tenant(self.turns.get(*turn).tenant).id);
            ids.filter(|id| self.fetches.has_fetches_of(queue, id)).cloned().collect()
        };
        self.steps += ids.len() as u64;
        self.to_serve_tenant.extend(ids.into_iter().map(|id| (queue, id)));
    }

    pub(super) fn place_turn_and_wake(&mut self, turn: TurnIx) {
        self.place_turn(turn);
        if self.turns.contains(turn) {
            self.tenant_fetches_ready(turn);
        }
    }

    fn set_tenant(&mut self, ix: TenantIx, rules: TenantRules) {
        let tenant_state = self.tenant(ix);
        let same =
            tenant_state.boost == rules.boost && tenant_state.max_priority == rules.max_priority;
        let (reweighed, recapped) =
            (tenant_state.weight != rules.weight, tenant_state.cap != rules.cap);
        let mut lanes = if same && !reweighed { Vec::new() } else { self.lanes_of(ix) };
        // A new weight changes ranks at keys, and nothing for lanes without a limit.
        lanes.retain(|class| !same || self.gates_of(*class).next().is_some());
        self.steps += 2 * lanes.len() as u64;
        lanes.iter().for_each(|class| self.displace_lane(*class));
        let tenant_state = &mut self.tenants[ix.0 as usize];
        let TenantRules { weight, cap, boost, max_priority } = rules;
        (tenant_state.weight, tenant_state.cap, tenant_state.boost, tenant_state.max_priority) =
            (weight, cap, boost, max_priority);
        if reweighed {
            let job_step = Tag::step(self.rules.one_job, weight);
            let queues = self.tenant(ix).shards.iter().map(|s| self.shards[s.0 as usize].queue);
            let members = queues.flat_map(|queue| &self.queue(queue).members);
            let accounts: BTreeSet<_> = members.map(|member| member.account).collect();
            for account in accounts {
                for standing in self.accounts.standings_of(account, ix) {
                    self.accounts.clamp(standing, job_step, weight);
                }
            }
        }
        lanes.into_iter().for_each(|class| self.place_lane(class));
        let turns = self.turns_of(ix);
        self.steps += turns.len() as u64;
        if reweighed || recapped || !same {
            turns.into_iter().for_each(|turn| self.place_turn_and_wake(turn));
        }
    }

    pub(super) fn turns_of(&self, tenant: TenantIx) -> Vec<TurnIx> {
        let shards = self.tenant(tenant).shards.iter();
        let turns = shards.flat_map(|shard| &self.shards[shard.0 as usize].turns);
        turns.map(|(_, turn)| *turn).collect()
    }

    fn lanes_of(&self, tenant: TenantIx) -> Vec<ClassId> {
        let turns = self.turns_of(tenant);
        turns.into_iter().flat_map(|turn| self.turns.get(turn).lanes()).collect()
    }

    fn set_gates(&mut self, class: ClassId, gates: Box<[GateIx]>) {
        self.displace_lane(class);
        let jobs = self.lanes.get(class).map_or(0, |lane| lane.len()) as u64;
        for gate in &gates {
            self.limits.gate_mut(*gate).available += jobs;
        }
        let Some(rules) = &mut self.classes[class.0 as usize] else { return };
        for gate in std::mem::replace(&mut rules.gates, gates) {
            self.limits.gate_mut(gate).available -= jobs;
            self.limits.leave_gate(gate);
        }
        if self.lanes.get(class).is_some() {
            self.place_lane(class);
        }
    }

    fn set_queue_gate(&mut self, queue: QueueIx, gate: Option<GateIx>) {
        self.wake_queue_gate(queue);
        let old = std::mem::replace(&mut self.queue_mut(queue).gate, gate);
        if let Some(old) = old {
            self.notify_queue_gate(queue, old, None);
            let limit = self.limits.gate(old).limit;
            let limit = self.limits.limit_mut(limit);
            limit.active = limit.named;
            self.limits.leave_gate(old);
        }
        if let Some(gate) = gate {
            let (limit, active) = (self.limits.gate(gate).limit, self.queue(queue).active);
            let limit = self.limits.limit_mut(limit);
            limit.active = active + limit.named_elsewhere;
        }
        self.queue_ready(queue);
        self.all_tenant_fetches_ready(queue);
    }

    /// Starts or stops keeping the queue's lanes by their heads, which dropping the oldest jobs needs.
    fn keep_heads(&mut self, queue: QueueIx, wanted: bool) {
        if wanted == self.queue(queue).heads.is_some() {
            return;
        }
        let heads = wanted.then(|| {
            let lanes = self.lanes.classes().filter(|class| self.class(*class).queue == queue);
            lanes.filter_map(|class| Some((self.lanes.get(class)?.head()?, class))).collect()
        });
        self.queue_mut(queue).heads = heads;
    }

    /// A new queue may be one that waiting fetches or pools name.
    pub fn queue_created(&mut self, name: &QueueName, queue: QueueIx) {
        self.pools.queue_created(name);
        self.fetches.queue_created(name, queue);
    }

    /// Updates the load of a worker and whether it has room.
    pub fn worker_changed(
        &mut self,
        worker: &WorkerId,
        load: usize,
        has_room: bool,
        find: impl Fn(&str) -> Option<QueueIx>,
    ) {
        for id in self.fetches.worker_changed(worker, load, has_room, &find) {
            self.may_be_served(id, &find);
        }
    }

    /// Lists the queues of a waiting fetch that could not take jobs before.
    pub fn may_be_served(&mut self, id: WaiterId, find: impl Fn(&str) -> Option<QueueIx>) {
        let Some(waiter) = self.fetches.get(id) else { return };
        let queues = waiter.queues().iter().filter_map(|name| find(name));
        match &waiter.fetch.tenant {
            None => queues.for_each(|queue| self.to_serve.insert(queue)),
            Some(id) => self.to_serve_tenant.extend(queues.map(|queue| (queue, id.clone()))),
        }
    }

    /// Serves nobody until [`Reconfigured::All`].
    pub fn serve_nobody(&mut self) {
        self.to_serve.clear();
        self.to_serve_tenant.clear();
        self.to_serve_pools.clear();
    }
}
