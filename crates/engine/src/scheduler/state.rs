//! The scheduler's state, and the verbs by which the engine speaks to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use ahash::RandomState;
use rota_model::{ClassId, PoolName, Seq, TenantId, Weight};

use super::account::Accounts;
use super::bookings::Booking;
use super::fetches::Fetches;
use super::lane::{LanePosition, Lanes, WaitingJob};
use super::limits::{Bucket, GateIx, LimitIx, Limits};
use super::notice::Notice;
use super::pool::Pools;
use super::queue::Queue;
use super::rotations::Rotations;
use super::rule_changes::PendingRules;
use super::size::Size;
use super::turn::{TurnIx, Turns};
use super::types::{TypeIx, Types};
use crate::Now;
use crate::config::{Config, Cost, PriorityScope};
use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::slots::Pages;
use crate::tenant::TenantIx;

pub(crate) struct Scheduler {
    pub(super) rules: Rules,
    /// The clock of limits: see [`Scheduler::advance`].
    pub(super) now: Now,
    /// The clocks of the engine.
    pub(super) last: Now,
    pub(super) queues: Pages<Queue>,
    pub(super) tenants: Pages<Tenant>,
    pub(super) shards: Pages<Shard>,
    pub(super) shard_of: HashMap<(QueueIx, TenantIx), ShardIx, RandomState>,
    pub(super) classes: Pages<Option<ClassRules>>,
    pub(super) types: Types,
    /// Tenants whose lanes and turns have yet to follow a change.
    pub(super) pending_rules: BTreeMap<TenantIx, PendingRules>,
    pub(super) lanes: Lanes,
    pub(super) turns: Turns,
    pub(super) accounts: Accounts,
    pub(super) limits: Limits,
    pub(super) pools: Pools,
    pub(super) rotations: Rotations,
    pub(super) fetches: Fetches,
    /// Lanes whose jobs are dropped or put off, because they would start and may not.
    pub(super) sweeps: VecDeque<ClassId>,
    /// Jobs that were put off, until they start.
    pub(super) bookings: HashMap<Seq, Booking, RandomState>,
    /// Limits that may open before the first job that is booked at them comes back.
    pub(super) to_bring_forward: BTreeSet<LimitIx>,
    /// Lanes of jobs that do not wait for limits, and wait because a key is paused.
    pub(super) paused_lanes: BTreeMap<LimitIx, BTreeSet<ClassId>>,
    /// Such lanes whose pause may be over.
    pub(super) to_place_again: VecDeque<ClassId>,
    /// Queues that may have a job for a waiting fetch, in the order in which they came up.
    pub(super) to_serve: ServeList,
    /// The same for fetches of one tenant.
    pub(super) to_serve_tenant: BTreeSet<(QueueIx, TenantId)>,
    /// Pools that have room which they had not.
    pub(super) to_serve_pools: BTreeSet<PoolName>,
    /// Limits that may have opened.
    pub(super) to_wake: BTreeSet<(LimitIx, Bucket)>,
    /// Parked turns that may have offers for which others wait.
    pub(super) to_withdraw: VecDeque<TurnIx>,
    /// Turns that are no longer parked and do not stand in all their lines yet.
    pub(super) to_rejoin: VecDeque<TurnIx>,
    /// How often turns of these two lists may still be kept up in the command under way.
    pub(super) repair_budget: usize,
    /// Waitlists that make no offers in the decision under way.
    pub(super) deferred: Vec<(LimitIx, QueueIx)>,
    pub(super) notices: Vec<Notice>,
    /// What has been looked at so far: a measure of cost that does not depend on the machine.
    pub(super) steps: u64,
}

/// A list of queues in which each stands once.
#[derive(Default)]
pub(super) struct ServeList {
    queues: VecDeque<QueueIx>,
    listed: BTreeSet<QueueIx>,
}

impl ServeList {
    pub fn insert(&mut self, queue: QueueIx) {
        if self.listed.insert(queue) {
            self.queues.push_back(queue);
        }
    }

    pub fn first(&self) -> Option<QueueIx> {
        self.queues.front().copied()
    }

    pub fn pop_first(&mut self) {
        if let Some(queue) = self.queues.pop_front() {
            self.listed.remove(&queue);
        }
    }

    pub fn remove(&mut self, queue: QueueIx) {
        if self.listed.remove(&queue) {
            self.queues.retain(|listed| *listed != queue);
        }
    }

    pub fn clear(&mut self) {
        self.queues.clear();
        self.listed.clear();
    }
}

/// What is the same for all decisions.
pub(super) struct Rules {
    /// Tenants take turns; otherwise jobs go in the order in which they came.
    pub fair: bool,
    pub priority_scope: PriorityScope,
    /// Each tenant has queues of its own, and its workers share them.
    pub queues_per_tenant: bool,
    /// What a job is held to cost when a tag may be at most one job ahead.
    pub one_job: u64,
}

pub(super) struct Tenant {
    pub id: TenantId,
    pub weight: Weight,
    pub cap: Option<u32>,
    pub boost: i32,
    pub max_priority: Option<i16>,
    /// Turns of another version are out of date.
    pub version: u32,
    pub active: u64,
    pub shards: Vec<ShardIx>,
    /// Turns that its cap or a pause keeps out.
    pub parked: BTreeSet<TurnIx>,
}

/// What an operator says about a tenant, as far as dispatching goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TenantRules {
    pub weight: Weight,
    /// The most jobs that may be active at once.
    pub cap: Option<u32>,
    pub boost: i32,
    pub max_priority: Option<i16>,
}

/// One tenant's part of one queue.
pub(super) struct Shard {
    pub queue: QueueIx,
    pub tenant: TenantIx,
    pub paused: bool,
    /// By level; few.
    pub turns: Vec<(i32, TurnIx)>,
}

/// A part of a queue that comes up.
pub(crate) struct NewShard {
    pub queue: QueueIx,
    pub tenant: TenantIx,
    pub paused: bool,
}

/// What jobs of one class have in common.
#[derive(Debug, Clone)]
pub(crate) struct ClassRules {
    pub queue: QueueIx,
    pub tenant: TenantIx,
    pub shard: ShardIx,
    pub priority: i16,
    pub kind: TypeIx,
    /// What its jobs must pass besides the gates of their queue and type.
    pub gates: Box<[GateIx]>,
    /// The key that its jobs name is that of their own queue or type.
    pub names_home: bool,
    /// Its jobs wait when a limit is reached; otherwise they are dropped or put off.
    pub waits: bool,
}

impl Scheduler {
    pub fn new(config: &Config, hasher: &RandomState) -> Self {
        let one_job = match config.fairness.cost {
            Cost::Job => 1,
            Cost::Runtime => 60_000,
        };
        let fairness = &config.fairness;
        Self {
            rules: Rules {
                fair: fairness.enabled,
                priority_scope: fairness.priority_scope,
                queues_per_tenant: config.queues_per_tenant,
                one_job,
            },
            now: Now::default(),
            last: Now::default(),
            queues: Pages::default(),
            tenants: Pages::default(),
            shards: Pages::default(),
            shard_of: HashMap::with_hasher(hasher.clone()),
            classes: Pages::default(),
            types: Types::new(hasher.clone()),
            pending_rules: BTreeMap::new(),
            lanes: Lanes::default(),
            turns: Turns::default(),
            accounts: Accounts::new(hasher.clone()),
            limits: Limits::new(hasher.clone()),
            pools: Pools::default(),
            rotations: Rotations::default(),
            fetches: Fetches::new(config.caps.waiting_fetches),
            sweeps: VecDeque::new(),
            bookings: HashMap::with_hasher(hasher.clone()),
            to_bring_forward: BTreeSet::new(),
            paused_lanes: BTreeMap::new(),
            to_place_again: VecDeque::new(),
            to_serve: ServeList::default(),
            to_serve_tenant: BTreeSet::new(),
            to_serve_pools: BTreeSet::new(),
            to_wake: BTreeSet::new(),
            to_withdraw: VecDeque::new(),
            to_rejoin: VecDeque::new(),
            repair_budget: usize::MAX,
            deferred: Vec::new(),
            notices: Vec::new(),
            steps: 0,
        }
    }

    /// A job waits from now on.
    pub fn enter(&mut self, seq: Seq, class: ClassId, job: WaitingJob) {
        self.steps += 1;
        let lane = self.lanes.get_or_make(class);
        let old = lane.head();
        lane.add(seq, job);
        let new = lane.head();
        self.count_available(class, 1);
        self.head_moved(class, old, new);
    }

    /// A waiting job is gone, for whatever reason.
    pub fn leave(&mut self, seq: Seq, class: ClassId) -> Option<Size> {
        self.steps += 1;
        let lane = self.lanes.get_mut(class)?;
        let old = lane.head();
        let size = lane.remove(seq)?;
        let new = lane.head();
        self.unbook(seq);
        self.count_available(class, -1);
        self.head_moved(class, old, new);
        Some(size)
    }

    /// What has become of note since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Takes the oldest job out of its lane.
    pub(super) fn pop(&mut self, class: ClassId) -> Option<(Seq, WaitingJob)> {
        let lane = self.lanes.get_mut(class)?;
        let (seq, job) = lane.pop()?;
        let new = lane.head();
        self.count_available(class, -1);
        self.head_moved(class, Some(seq), new);
        Some((seq, job))
    }

    fn head_moved(&mut self, class: ClassId, old: Option<Seq>, new: Option<Seq>) {
        if old == new {
            return;
        }
        let queue = self.class(class).queue;
        if let Some(heads) = &mut self.queues[queue.0 as usize].heads {
            old.map(|seq| heads.remove(&(seq, class)));
            new.map(|seq| heads.insert((seq, class)));
        }
        let position = self.lanes.get(class).map_or(LanePosition::Nowhere, |lane| lane.position);
        match (position, new) {
            (LanePosition::Nowhere, Some(_)) => self.place_lane(class),
            (LanePosition::Sweep, None) => {}
            (_, None) => {
                self.displace_lane(class);
                self.lanes.remove_if_empty(class);
            }
            (LanePosition::Turn(..), Some(head)) => self.rekey(class, head),
            (LanePosition::Sweep, Some(_)) => {}
        }
    }

    fn count_available(&mut self, class: ClassId, by: i64) {
        let rules = self.classes[class.0 as usize].as_ref().expect("a job's class is known");
        let of_type = self.types.get_mut(rules.kind);
        of_type.available = of_type.available.saturating_add_signed(by);
        for gate in rules.gates.iter().copied().chain(of_type.gate) {
            let available = &mut self.limits.gate_mut(gate).available;
            *available = available.saturating_add_signed(by);
        }
        let queue = &mut self.queues[rules.queue.0 as usize];
        queue.available = queue.available.saturating_add_signed(by);
        if !queue.ordered_in.is_empty() {
            let (ix, available) = (rules.queue, queue.available);
            self.rotations.depth_changed(&self.queues[ix.0 as usize].ordered_in, available);
        }
    }

    pub(super) fn class(&self, class: ClassId) -> &ClassRules {
        self.classes[class.0 as usize]
            .as_ref()
            .expect("a job's class is known while the job exists")
    }

    pub(super) fn queue(&self, ix: QueueIx) -> &Queue {
        &self.queues[ix.0 as usize]
    }

    pub(super) fn queue_mut(&mut self, ix: QueueIx) -> &mut Queue {
        &mut self.queues[ix.0 as usize]
    }

    pub(super) fn tenant(&self, ix: TenantIx) -> &Tenant {
        &self.tenants[ix.0 as usize]
    }
}
