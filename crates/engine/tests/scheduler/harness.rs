//! A scheduler with its clock, queues and tenants in the test's hand.

use std::collections::BTreeMap;

use ahash::RandomState;
use rota_model::{
    ClassId, JobType, LimitKey, LimitNumbers, Millis, PoolName, QueueStrategy, Seq, Starvation,
    TenantId, Weight,
};

use crate::queue::QueueIx;
use crate::scheduler::limits::{GateIx, Partition};
use crate::scheduler::{
    ClassRules, Ended, FetchRequest, NewShard, Notice, Pick, RequestedQueues, RotationKey,
    RotationRules, Scheduler, Size, TenantRules, WaitingJob,
};
use crate::shard::ShardIx;
use crate::tenant::TenantIx;
use crate::{Config, Now, WaiterId};

pub struct Stand {
    pub scheduler: Scheduler,
    now: Now,
    tenants: Vec<String>,
    queues: u32,
    shards: BTreeMap<(QueueIx, TenantIx), ShardIx>,
    classes: Vec<(QueueIx, TenantIx)>,
    next_seq: u64,
}

impl Stand {
    pub fn new() -> Self {
        Self::with(&Config::default())
    }

    pub fn with(config: &Config) -> Self {
        let mut stand = Self {
            scheduler: Scheduler::new(config, &RandomState::with_seeds(1, 2, 3, 4)),
            now: Now { wall: Millis(1_770_000_000_000), mono: 0, ahead_ms: 0 },
            tenants: Vec::new(),
            queues: 0,
            shards: BTreeMap::new(),
            classes: Vec::new(),
            next_seq: 1,
        };
        stand.pass(0);
        stand
    }

    pub fn pass(&mut self, ms: u64) {
        self.now.mono += ms;
        self.now.wall = Millis(self.now.wall.0 + ms as i64);
        self.scheduler.advance(self.now);
    }

    pub fn queue(&mut self) -> QueueIx {
        let queue = QueueIx(self.queues);
        self.queues += 1;
        self.scheduler.add_queue(queue);
        queue
    }

    pub fn tenant(&mut self, id: &str, weight: f64) -> TenantIx {
        self.tenant_with(id, |rules| rules.weight = Weight::new(weight).unwrap())
    }

    pub fn tenant_with(&mut self, id: &str, change: impl FnOnce(&mut TenantRules)) -> TenantIx {
        let mut rules =
            TenantRules { weight: Weight::ONE, cap: None, boost: 0, max_priority: None };
        change(&mut rules);
        let ix = TenantIx(self.tenants.len() as u32);
        self.scheduler.add_tenant(ix, TenantId::parse(id).unwrap(), rules);
        self.tenants.push(id.to_owned());
        ix
    }

    pub fn class(&mut self, queue: QueueIx, tenant: TenantIx) -> ClassId {
        self.class_with(queue, tenant, 0, None)
    }

    pub fn class_with(
        &mut self,
        queue: QueueIx,
        tenant: TenantIx,
        priority: i16,
        gate: Option<GateIx>,
    ) -> ClassId {
        let next = ShardIx(self.shards.len() as u32);
        let shard = *self.shards.entry((queue, tenant)).or_insert(next);
        if shard == next {
            let new = NewShard { queue, tenant, paused: false };
            let place = self.scheduler.shards_of(tenant).len();
            self.scheduler.add_shard(shard, new, place);
        }
        let class = ClassId(self.classes.len() as u32);
        let gates = gate.into_iter().collect();
        let kind = self.scheduler.use_type(&JobType::parse("t").unwrap());
        let (names_home, waits) = (false, true);
        let rules = ClassRules { queue, tenant, shard, priority, kind, gates, names_home, waits };
        self.scheduler.add_class(class, rules);
        self.classes.push((queue, tenant));
        class
    }

    /// A gate at a key that all tenants share.
    pub fn gate(&mut self, key: &str, numbers: LimitNumbers) -> GateIx {
        let key = LimitKey::parse(key).unwrap();
        let limit = self.scheduler.limit(&Partition { key, tenant: None });
        self.scheduler.use_gate(limit, numbers, None)
    }

    pub fn enter(&mut self, class: ClassId, jobs: usize) -> Vec<Seq> {
        let enter = |_| {
            let seq = Seq(self.next_seq);
            self.next_seq += 1;
            self.scheduler.enter(seq, class, WaitingJob::fresh(Size::of(10)));
            seq
        };
        (0..jobs).map(enter).collect()
    }

    /// A fetch for these queues in turn, without a pool.
    pub fn ask(&mut self, queues: &[QueueIx], strategy: QueueStrategy) -> FetchRequest {
        self.ask_with(queues, |rules| rules.strategy = strategy)
    }

    pub fn ask_with(
        &mut self,
        queues: &[QueueIx],
        change: impl FnOnce(&mut RotationRules),
    ) -> FetchRequest {
        let key = RotationKey::Pool(PoolName::parse("p").unwrap(), None);
        self.ask_as(key, queues, change)
    }

    fn ask_as(
        &mut self,
        key: RotationKey,
        queues: &[QueueIx],
        change: impl FnOnce(&mut RotationRules),
    ) -> FetchRequest {
        let one = RequestedQueues::Some(queues.to_vec());
        let mut ask = FetchRequest {
            queues: one,
            only: None,
            pool: None,
            rotation: None,
            account: None,
            charge: true,
        };
        if queues.len() > 1 {
            let mut rules = RotationRules {
                queues: queues.iter().map(|queue| (*queue, Weight::ONE)).collect(),
                strategy: QueueStrategy::Strict,
                starvation: Starvation::default(),
                named: queues.len(),
                shared: false,
                for_tenant: false,
            };
            change(&mut rules);
            let (rotation, account) = self.scheduler.put_rotation(key, 1, &rules, |_| None);
            (ask.queues, ask.rotation, ask.account) =
                (RequestedQueues::All, Some(rotation), account);
        }
        ask
    }

    /// A fetch of the same pool for some of its queues.
    pub fn ask_some(pool: &FetchRequest, queues: &[QueueIx]) -> FetchRequest {
        FetchRequest { queues: RequestedQueues::Some(queues.to_vec()), ..pool.clone() }
    }

    /// A fetch without a pool for these queues, as a set of its own.
    pub fn ask_set(
        &mut self,
        hash: u32,
        queues: &[QueueIx],
        change: impl FnOnce(&mut RotationRules),
    ) -> FetchRequest {
        self.ask_as(RotationKey::Set(u64::from(hash)), queues, change)
    }

    /// The next job starts.
    pub fn start(&mut self, ask: &FetchRequest) -> Option<Pick> {
        let pick = self.scheduler.next(ask);
        if let Some(pick) = &pick {
            self.scheduler.started(pick, ask, 1).expect("a picked job is there");
        }
        self.scheduler.end_fetch();
        pick
    }

    /// The waiting fetch to try next.
    pub fn next_waiting(&mut self) -> Option<WaiterId> {
        let position = |id: &TenantId| self.tenants.iter().position(|other| **other == **id);
        self.scheduler.next_waiting(|id| Some(TenantIx(position(id)? as u32)))
    }

    pub fn end(&mut self, pick: &Pick) {
        self.scheduler.ended(&Ended { class: pick.class, pool: None, correction: None });
        assert!(self.next_waiting().is_none(), "nobody waits in these tests");
    }

    /// So many jobs are started and ended, one after the other: whose they were.
    pub fn serve(&mut self, ask: &FetchRequest, times: usize) -> Vec<&str> {
        let mut owners = Vec::new();
        for n in 0..times {
            let pick = self.start(ask).unwrap_or_else(|| panic!("nothing after {n} jobs"));
            self.end(&pick);
            owners.push(self.classes[pick.class.0 as usize].1);
        }
        owners.into_iter().map(|tenant| &*self.tenants[tenant.0 as usize]).collect()
    }

    pub fn notices(&mut self) -> Vec<Notice> {
        self.scheduler.take_notices()
    }
}

pub fn count(owners: &[&str], one: &str) -> usize {
    owners.iter().filter(|owner| **owner == one).count()
}

pub fn slots(concurrency: u32) -> LimitNumbers {
    LimitNumbers { concurrency: Some(concurrency), ..LimitNumbers::default() }
}
