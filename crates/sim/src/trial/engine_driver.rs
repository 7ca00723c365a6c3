//! Drives an engine with a manual clock and without a store.

use std::collections::BTreeMap;

use rota_engine::{
    Ack, Claimed, Command, Config, Engine, Enqueue, EventKind, Failure, Fetch, Holder, Nack, Now,
    Reply, Settle, Target, TenantChange,
};
use rota_model::envelope::NewJob;
use rota_model::row::JobRow;
use rota_model::{
    Class, JobId, JobType, Millis, Policy, QueueName, RetryPolicy, Seq, TenantConfig, TenantId,
};

use crate::oracle::{Rule, Violation, check_cost};
use crate::rng::Rng;
use crate::runtime::scanned;

/// 2026-02-12T10:29:50Z.
const BEGINNING: i64 = 1_770_892_190_000;

pub(super) struct EngineDriver {
    pub engine: Engine,
    pub at: u64,
    pub events: Vec<EventKind>,
    /// Whose job each is, as the trial numbers them.
    pub owners: BTreeMap<Seq, usize>,
    /// The first command that took more steps than it may.
    pub over_budget: Option<Violation>,
    /// Every command looks at all waiting jobs, as a fault.
    pub scans: bool,
    entropy: Rng,
    next_id: u128,
}

impl EngineDriver {
    pub fn new(config: Config, mut entropy: Rng) -> Self {
        let mut driver = Self {
            engine: Engine::new(config, entropy.next()),
            at: 0,
            events: Vec::new(),
            owners: BTreeMap::new(),
            over_budget: None,
            scans: false,
            entropy,
            next_id: 0,
        };
        driver.pass(0);
        driver
    }

    pub fn wall(&self) -> Millis {
        Millis(BEGINNING + self.at as i64)
    }

    pub fn apply(&mut self, command: Command) -> Reply {
        let before = self.engine.scheduler_steps();
        let reply = self.engine.apply(self.entropy.next(), command.clone());
        let effects = self.engine.take_effects();
        let mut steps = self.engine.scheduler_steps() - before;
        if self.scans {
            steps += scanned(&self.engine);
        }
        let count = effects.mutations.len() + effects.events.len() + effects.woken.len();
        if let Err(violation) = check_cost(&command, count, steps) {
            self.over_budget.get_or_insert(violation);
        }
        self.events.extend(effects.events.into_iter().map(|event| event.kind));
        reply
    }

    /// Lets time pass; what is due then happens.
    pub fn pass(&mut self, ms: u64) {
        self.at += ms;
        let now = Now { wall: self.wall(), mono: self.at, ahead_ms: 0 };
        self.apply(Command::Tick(now));
        while self.engine.wake_in_ms() == Some(0) {
            self.apply(Command::Tick(now));
        }
    }

    pub fn enqueue(&mut self, owner: usize, class: &Class, count: u64) -> Result<(), Violation> {
        let jobs = (0..count).map(|_| {
            self.next_id += 1;
            NewJob {
                id: JobId::v7(BEGINNING, self.next_id),
                id_given: false,
                class: class.clone(),
                start_at: None,
                expires: None,
                pending: false,
                proven: false,
                body: bytes::Bytes::from_static(br#""type":"sim.work","args":[]"#),
            }
        });
        let jobs = jobs.collect();
        match self.apply(Command::Enqueue(Enqueue { jobs, wait: None })) {
            Reply::Enqueued(admission) => {
                self.owners.extend(admission.jobs.iter().map(|job| (job.seq, owner)));
                Ok(())
            }
            other => Err(Violation::new(Rule::Reply, format!("{other:?}"))),
        }
    }

    /// One job, and whose it is.
    pub fn fetch(&mut self) -> Option<(Seq, usize)> {
        let fetch = Fetch::of(vec![QueueName::default_queue()], 1);
        let Reply::Fetched(claims) = self.apply(Command::Fetch(fetch)) else { return None };
        let &Claimed { seq, .. } = claims.first()?;
        Some((seq, *self.owners.get(&seq)?))
    }

    /// An execution ends, well or for good.
    pub fn end(&mut self, seq: Seq, well: bool) -> Result<(), Violation> {
        let Some(live) = self.engine.active_job(seq) else {
            return Err(Violation::new(Rule::Lost, format!("job {seq} is not active")));
        };
        let job = Target { seq, id: JobId::v7(BEGINNING, 0), now: JobRow::Live(live) };
        let holder = Holder::default();
        let settle = if well {
            Settle::Ack(Ack { job, holder, result: None })
        } else {
            let failure = Failure {
                kind: "broken".into(),
                code: None,
                retryable: false,
                limited_until: None,
                json: br#""type":"broken","message":"no""#.to_vec().into(),
            };
            Settle::Nack(Nack { job, holder, failure, requeue: false, proven: false })
        };
        match self.apply(Command::Settle(vec![settle])) {
            Reply::Settled(all) if all.iter().all(Result::is_ok) => Ok(()),
            other => Err(Violation::new(Rule::Reply, format!("{other:?}"))),
        }
    }

    pub fn put_tenant(&mut self, id: &TenantId, config: TenantConfig) {
        let change = TenantChange { config, what: "put", reason: None };
        self.apply(Command::PutTenant(id.clone(), change));
    }
}

pub(super) fn tenant(n: usize) -> TenantId {
    TenantId::parse(&format!("t{n}")).expect("the name is valid")
}

/// Jobs of this tenant and type in the only queue.
pub(super) fn class(tenant: TenantId, kind: &str) -> Class {
    let retry = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
    Class {
        queue: QueueName::default_queue(),
        kind: JobType::parse(kind).expect("the type is valid"),
        tenant,
        priority: 0,
        policy: Policy { retry, ..Policy::default() }.into(),
    }
}
