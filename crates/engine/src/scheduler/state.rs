//! The scheduler's state, and how jobs enter and leave it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use ahash::RandomState;
use rota_model::{ClassId, PoolName, Seq, TenantId, Weight};

use super::account::Accounts;
use super::bookings::Booking;
use super::deferring::Deferrals;
use super::fetches::Fetches;
use super::lane::{LanePosition, Lanes, WaitingJob};
use super::limits::{Bucket, GateIx, LimitIx, Limits};
use super::notice::Notice;
use super::pools::Pools;
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
use crate::slab::PagedVec;
use crate::tenant::TenantIx;

/// All scheduling state. Methods are spread over the files of this folder by what they do.
pub(crate) struct Scheduler {
    pub(super) rules: Rules,
    /// The limits' clock: see [`Scheduler::advance`].
    pub(super) now: Now,
    /// The engine's clocks at the last `advance`.
    pub(super) last: Now,
    pub(super) queues: PagedVec<Queue>,
    pub(super) tenants: PagedVec<Tenant>,
    pub(super) shards: PagedVec<Shard>,
    pub(super) shard_of: HashMap<(QueueIx, TenantIx), ShardIx, RandomState>,
    pub(super) classes: PagedVec<Option<ClassRules>>,
    pub(super) types: Types,
    /// Tenants whose new rules have not been applied to all of their lanes and turns.
    pub(super) pending_rules: BTreeMap<TenantIx, PendingRules>,
    pub(super) lanes: Lanes,
    pub(super) turns: Turns,
    pub(super) accounts: Accounts,
    pub(super) limits: Limits,
    pub(super) pools: Pools,
    pub(super) rotations: Rotations,
    pub(super) fetches: Fetches,
    /// Lanes whose jobs are being dropped or rescheduled, because they may not start and do not wait.
    pub(super) sweeps: VecDeque<ClassId>,
    /// Rescheduled jobs, until they start.
    pub(super) bookings: HashMap<Seq, Booking, RandomState>,
    /// Limits that may open before the first of their booked jobs comes back.
    pub(super) to_bring_forward: BTreeSet<LimitIx>,
    /// Lanes of jobs that do not wait for limits, waiting because their key is paused.
    pub(super) paused_lanes: BTreeMap<LimitIx, BTreeSet<ClassId>>,
    /// Lanes from `paused_lanes` whose pause may be over.
    pub(super) to_place_again: VecDeque<ClassId>,
    /// Queues that may have a job for a waiting fetch, in the order in which they were listed.
    pub(super) to_serve: ServeList,
    /// The same for fetches of a single tenant.
    pub(super) to_serve_tenant: BTreeSet<(QueueIx, TenantId)>,
    /// Pools that were full and have room.
    pub(super) to_serve_pools: BTreeSet<PoolName>,
    /// Buckets that may have opened.
    pub(super) to_wake: BTreeSet<(LimitIx, Bucket)>,
    /// Parked turns that may have offers which others wait for.
    pub(super) to_withdraw: VecDeque<TurnIx>,
    /// Turns that are no longer parked but not back in all of their lines.
    pub(super) to_rejoin: VecDeque<TurnIx>,
    /// How many turns and keys the current command may still visit for `to_withdraw` and `to_rejoin`.
    pub(super) repair_budget: usize,
    /// Waitlists that make no offers to the current fetch.
    pub(super) deferrals: Deferrals,
    pub(super) notices: Vec<Notice>,
    /// Entries visited so far: a measure of cost that does not depend on the machine.
    pub(super) steps: u64,
}

/// A FIFO of queues without duplicates.
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

/// Rules that are the same for all decisions.
pub(super) struct Rules {
    /// Tenants take turns. Otherwise jobs start in the order of their numbers.
    pub fair: bool,
    pub priority_scope: PriorityScope,
    /// Each tenant has separate queues, and its workers share them.
    pub queues_per_tenant: bool,
    /// The assumed cost of a job, for clamping a tag to one job ahead.
    pub one_job: u64,
}

/// A tenant: its rules, what it uses, and where it waits.
pub(super) struct Tenant {
    pub id: TenantId,
    pub weight: Weight,
    pub cap: Option<u32>,
    pub boost: i32,
    pub max_priority: Option<i16>,
    /// The version of the rules. Turns made for another version are out of date.
    pub version: u32,
    pub active: u64,
    pub shards: Vec<ShardIx>,
    /// Turns that are parked because of the tenant's cap or a pause.
    pub parked: BTreeSet<TurnIx>,
}

/// A tenant's rules for scheduling.
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
    /// By level.
    pub turns: Vec<(i32, TurnIx)>,
}

/// A shard to add.
pub(crate) struct NewShard {
    pub queue: QueueIx,
    pub tenant: TenantIx,
    pub paused: bool,
}

/// What the jobs of one class share.
#[derive(Debug, Clone)]
pub(crate) struct ClassRules {
    pub queue: QueueIx,
    pub tenant: TenantIx,
    pub shard: ShardIx,
    pub priority: i16,
    pub kind: TypeIx,
    /// Gates that its jobs must pass, besides those of their queue and type.
    pub gates: Box<[GateIx]>,
    /// The key that its jobs name is the key of their queue or type.
    pub names_home: bool,
    /// Its jobs wait when a limit is reached. Otherwise they are dropped or rescheduled.
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
            queues: PagedVec::default(),
            tenants: PagedVec::default(),
            shards: PagedVec::default(),
            shard_of: HashMap::with_hasher(hasher.clone()),
            classes: PagedVec::default(),
            types: Types::new(hasher.clone()),
            pending_rules: BTreeMap::new(),
            lanes: Lanes::default(),
            turns: Turns::default(),
            accounts: Accounts::new(hasher.clone()),
            limits: Limits::new(hasher.clone()),
            pools: Pools::new(config.caps.pools, !config.queues_per_tenant),
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
            deferrals: Deferrals::default(),
            notices: Vec::new(),
            steps: 0,
        }
    }

    /// A job begins to wait.
    pub fn enter(&mut self, seq: Seq, class: ClassId, job: WaitingJob) {
        self.steps += 1;
        let lane = self.lanes.get_or_make(class);
        let old = lane.head();
        lane.add(seq, job);
        let new = lane.head();
        self.count_available(class, 1);
        self.head_moved(class, old, new);
    }

    /// A waiting job is gone. Returns its size, or `None` if it did not wait.
    pub fn leave(&mut self, seq: Seq, class: ClassId) -> Option<Size> {
        let size = self.leave_lane(seq, class)?;
        self.unbook(seq);
        Some(size)
    }

    /// A waiting job gets another class, with the same limits. It keeps its booking.
    pub fn change_class(&mut self, seq: Seq, old: ClassId, new: ClassId, job: WaitingJob) {
        if self.leave_lane(seq, old).is_some() {
            self.enter(seq, new, job);
        }
        self.change_booked_class(seq, new);
    }

    fn leave_lane(&mut self, seq: Seq, class: ClassId) -> Option<Size> {
        self.steps += 1;
        let lane = self.lanes.get_mut(class)?;
        let old = lane.head();
        let size = lane.remove(seq)?;
        let new = lane.head();
        self.count_available(class, -1);
        self.head_moved(class, old, new);
        Some(size)
    }

    /// Notices since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Takes the oldest job out of a lane.
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
