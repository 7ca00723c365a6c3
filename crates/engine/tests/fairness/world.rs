//! An engine with its clock in the test's hand.

mod jobs;
mod store;

use std::collections::BTreeMap;

use rota_engine::{
    Ack, Claimed, Command, Config, Effects, Engine, Enqueue, EventKind, Failure, Fetch, Holder,
    Interval, Nack, Now, Preference, PutLimit, Reply, Restore, Settle, Target, TenantChange,
    WaiterId,
};
use rota_model::envelope::NewJob;
use rota_model::limit::parse_rate_limit;
use rota_model::mutation::{Counts, HistoryRow, RowKind};
use rota_model::row::JobRow;
use rota_model::usage::Usage;
use rota_model::{
    Class, ClassId, Done, ErrorRow, IdKey, JobId, JobType, LimitKey, Live, Millis, Policy,
    PoolConfig, PoolName, QueueName, Scope, Seq, State, TenantConfig, TenantId,
};
use serde_json::Value;

pub use jobs::{Job, cap_keys, cap_queues, concurrency, count, job, name, pool, rate};

pub const EPOCH: i64 = 1_770_000_000_000;

pub struct World {
    pub engine: Engine,
    pub config: Config,
    pub mono: u64,
    pub events: Vec<EventKind>,
    pub woken: Vec<(WaiterId, Reply)>,
    /// What a store would have.
    rows: BTreeMap<(RowKind, String), Vec<u8>>,
    classes: BTreeMap<u32, Class>,
    live: BTreeMap<Seq, Live>,
    pub done: BTreeMap<Seq, Done>,
    /// Finished jobs by class.
    counts: BTreeMap<u32, Counts>,
    pub errors: Vec<ErrorRow>,
    /// Purge times up to which the store has nothing left.
    pub purged: Option<Millis>,
    journal: BTreeMap<u64, Vec<u8>>,
    /// Bytes of named things that the last command wrote.
    pub written: usize,
    /// Statistics by the length in ms, queue and beginning.
    pub history: BTreeMap<(i64, String, i64), Interval>,
    history_rows: BTreeMap<(i64, String, i64), HistoryRow>,
    /// By tenant, code of the length and beginning of the period.
    pub usage: BTreeMap<(String, u8, i64), Usage>,
    /// The number of the newest entry in the audit log; a store refuses gaps.
    audited: u64,
    /// How many mutations each batch had.
    pub batch_sizes: Vec<usize>,
    number: u64,
    next_id: u128,
    owners: BTreeMap<Seq, (String, String)>,
}

impl World {
    pub fn new() -> Self {
        Self::with(Config::default())
    }

    pub fn with(config: Config) -> Self {
        let mut world = Self {
            engine: Engine::new(config.clone(), 7),
            config,
            mono: 0,
            events: Vec::new(),
            woken: Vec::new(),
            rows: BTreeMap::new(),
            classes: BTreeMap::new(),
            live: BTreeMap::new(),
            done: BTreeMap::new(),
            counts: BTreeMap::new(),
            errors: Vec::new(),
            purged: None,
            journal: BTreeMap::new(),
            written: 0,
            history: BTreeMap::new(),
            history_rows: BTreeMap::new(),
            usage: BTreeMap::new(),
            audited: 0,
            batch_sizes: Vec::new(),
            number: 0,
            next_id: 1,
            owners: BTreeMap::new(),
        };
        world.pass(0);
        world
    }

    pub fn apply(&mut self, command: Command) -> Reply {
        let reply = self.engine.apply(self.mono, command);
        self.commit();
        reply
    }

    fn commit(&mut self) {
        let Effects { mut mutations, woken, events } = self.engine.take_effects();
        self.events.extend(events.into_iter().map(|event| event.kind));
        self.woken.extend(woken);
        self.number += 1;
        self.written = 0;
        self.engine.seal(self.number, &mut mutations);
        self.batch_sizes.push(mutations.len());
        mutations.into_iter().for_each(|mutation| self.store(mutation));
    }

    /// Puts the state of schedules into their rows, as older formats have it.
    pub fn merge_cron_rows(&mut self) {
        let is_state = |(kind, _): &(RowKind, String)| *kind == RowKind::CronState;
        let states: Vec<_> = self.rows.keys().filter(|key| is_state(key)).cloned().collect();
        for key in states {
            let state: Value = serde_json::from_slice(&self.rows.remove(&key).unwrap()).unwrap();
            let row = self.rows.get_mut(&(RowKind::Cron, key.1)).unwrap();
            let mut whole: Value = serde_json::from_slice(row).unwrap();
            whole.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
            *row = serde_json::to_vec(&whole).unwrap();
        }
    }

    /// Names of the rows of this kind that a store would have.
    pub fn rows_of(&self, kind: RowKind) -> Vec<&str> {
        let rows = self.rows.keys().filter(|(of, _)| *of == kind);
        rows.map(|(_, name)| name.as_str()).collect()
    }

    /// The process ends without a word and another begins, after so many milliseconds.
    pub fn crash(&mut self, down_ms: u64) {
        let wall = Millis(self.engine.now().wall.0 + down_ms as i64);
        self.mono = 0;
        let mut restore = Restore::new(self.config.clone(), 9, Now { wall, mono: 0, ahead_ms: 0 });
        for (id, class) in &self.classes {
            let counts = self.counts.get(id).copied().unwrap_or_default();
            restore.class(ClassId(*id), class.clone(), counts);
        }
        for ((kind, name), json) in &self.rows {
            restore.named(*kind, name, json);
        }
        for live in self.live.values() {
            restore.live(live.clone());
        }
        for row in &self.recent_history() {
            restore.history(row);
        }
        for (number, data) in &self.journal {
            restore.journal(*number, data);
        }
        let next = self.engine.next_seq();
        self.engine = restore.finish(next, wall, IdKey(0), self.number).unwrap();
        self.pass(0);
    }

    /// Lets time pass.
    pub fn pass(&mut self, ms: u64) {
        let wall = if self.number == 0 { EPOCH } else { self.engine.now().wall.0 };
        self.mono += ms;
        let now = Now { wall: Millis(wall + ms as i64), mono: self.mono, ahead_ms: 0 };
        self.apply(Command::Tick(now));
        while self.engine.wake_in_ms() == Some(0) {
            self.apply(Command::Tick(now));
        }
    }

    pub fn try_enqueue(&mut self, jobs: &[Job], wait_ms: u64) -> Reply {
        let made = jobs.iter().map(|job| self.make(job)).collect();
        let wait = (wait_ms > 0).then_some((WaiterId(self.number + 1_000), wait_ms));
        let first = self.engine.next_seq();
        let reply = self.apply(Command::Enqueue(Enqueue { jobs: made, wait }));
        for (i, job) in jobs.iter().enumerate() {
            let owner = (job.tenant.to_owned(), job.queue.to_owned());
            self.owners.insert(Seq(first.0 + i as u64), owner);
        }
        reply
    }

    pub fn enqueue(&mut self, job: &Job, count: usize) -> Vec<Seq> {
        match self.try_enqueue(&vec![job.clone(); count], 0) {
            Reply::Enqueued(admission) => admission.jobs.iter().map(|job| job.seq).collect(),
            other => panic!("{other:?}"),
        }
    }

    pub fn make(&mut self, job: &Job) -> NewJob {
        let queue = QueueName::stored(job.queue).unwrap();
        let limit = job.limit.as_ref();
        let limit = limit.map(|limit| parse_rate_limit(limit, &queue, Scope::Global).unwrap());
        self.next_id += 1;
        NewJob {
            id: JobId::v7(EPOCH, self.next_id),
            id_given: false,
            class: Class {
                queue,
                kind: JobType::parse(job.kind).unwrap(),
                tenant: TenantId::parse(job.tenant).unwrap(),
                priority: job.priority,
                policy: Policy { limit, ..Policy::default() }.into(),
            },
            start_at: job.start_in.map(|ms| Millis(self.engine.now().wall.0 + ms)),
            expires: None,
            pending: false,
            proven: false,
            body: vec![b'x'; job.size].into(),
        }
    }

    pub fn fetch_with(
        &mut self,
        queues: &[&str],
        count: usize,
        change: impl FnOnce(&mut Fetch),
    ) -> Vec<Claimed> {
        let mut fetch =
            Fetch::of(queues.iter().map(|name| QueueName::parse(name).unwrap()).collect(), count);
        change(&mut fetch);
        match self.apply(Command::Fetch(fetch)) {
            Reply::Fetched(claimed) => claimed,
            Reply::Waiting => Vec::new(),
            other => panic!("{other:?}"),
        }
    }

    pub fn fetch(&mut self, count: usize) -> Vec<Claimed> {
        self.fetch_with(&["default"], count, |_| {})
    }

    /// The tenants of the next jobs, one fetch each.
    pub fn served(&mut self, count: usize) -> Vec<String> {
        let mut tenants = Vec::new();
        for _ in 0..count {
            let Some(claimed) = self.fetch(1).pop() else { break };
            tenants.push(self.owner(claimed.seq));
            self.ack(claimed.seq);
        }
        tenants
    }

    pub fn by_strategy(
        &mut self,
        queues: &[&str],
        preference: Option<Preference>,
        count: usize,
    ) -> Vec<String> {
        let mut served = Vec::new();
        for _ in 0..count {
            let one = self.fetch_with(queues, 1, |fetch| fetch.preference = preference.clone());
            let Some(claimed) = one.first() else { break };
            served.push(self.owners[&claimed.seq].1.clone());
            let seq = claimed.seq;
            self.ack(seq);
        }
        served
    }

    /// One job, started and finished: its tenant and its queue.
    pub fn next(
        &mut self,
        queues: &[&str],
        change: impl FnOnce(&mut Fetch),
    ) -> Option<(String, String)> {
        let claimed = self.fetch_with(queues, 1, change).pop()?;
        self.ack(claimed.seq);
        Some(self.owners[&claimed.seq].clone())
    }

    pub fn queue_of(&self, seq: Seq) -> String {
        self.owners[&seq].1.clone()
    }

    pub fn put_pool(&mut self, name: &str, pool: Value) {
        let config = PoolConfig::parse(pool.as_object().unwrap()).unwrap();
        let reply = self.apply(Command::PutPool(PoolName::parse(name).unwrap(), config.into()));
        assert!(matches!(reply, Reply::Pool { .. }), "{reply:?}");
    }

    pub fn owner(&self, seq: Seq) -> String {
        self.owners[&seq].0.clone()
    }

    pub fn target(&self, seq: Seq) -> Target {
        let live = self.engine.active_job(seq).or(self.live.get(&seq).cloned());
        let now = match live {
            Some(live) => JobRow::Live(live),
            None => JobRow::Done(self.done[&seq].clone()),
        };
        Target { seq, id: JobId::v7(EPOCH, 0), now }
    }

    pub fn ack(&mut self, seq: Seq) {
        let job = self.target(seq);
        let ack = Settle::Ack(Ack { job, holder: Holder::default(), result: None });
        match self.apply(Command::Settle(vec![ack])) {
            Reply::Settled(all) => assert!(all[0].is_ok(), "{all:?}"),
            other => panic!("{other:?}"),
        }
    }

    pub fn nack(&mut self, seq: Seq, limited_until: Option<Millis>) -> rota_engine::Settled {
        self.fail(seq, limited_until, true)
    }

    /// Reports a limit elsewhere, with or without the credentials of the job's tenant.
    pub fn report(&mut self, seq: Seq, limited_until: Option<Millis>, proven: bool) {
        let json = br#""type":"E","message":"m""#.to_vec().into();
        let failure =
            Failure { kind: "E".into(), code: None, retryable: true, limited_until, json };
        let job = self.target(seq);
        let nack = Nack { job, holder: Holder::default(), failure, requeue: false, proven };
        let reply = self.apply(Command::Settle(vec![Settle::Nack(nack)]));
        assert!(matches!(&reply, Reply::Settled(all) if all[0].is_ok()), "{reply:?}");
    }

    pub fn fail(
        &mut self,
        seq: Seq,
        limited_until: Option<Millis>,
        retryable: bool,
    ) -> rota_engine::Settled {
        let json = br#""type":"E","message":"m""#.to_vec().into();
        let failure = Failure { kind: "E".into(), code: None, retryable, limited_until, json };
        let job = self.target(seq);
        let nack = Nack { job, holder: Holder::default(), failure, requeue: false, proven: false };
        match self.apply(Command::Settle(vec![Settle::Nack(nack)])) {
            Reply::Settled(mut all) => all.remove(0).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub fn tenant(&mut self, id: &str, config: Value) {
        let mut made = TenantConfig::default();
        made.merge(config.as_object().unwrap()).unwrap();
        let change = TenantChange { config: made, what: "put", reason: None };
        let reply = self.apply(Command::PutTenant(TenantId::parse(id).unwrap(), change));
        assert!(matches!(reply, Reply::Tenant { .. }), "{reply:?}");
    }

    pub fn say(&mut self, key: &str, numbers: Value, for_ms: Option<i64>) {
        let numbers = rota_model::limit::parse_numbers(numbers.as_object().unwrap(), "x").unwrap();
        let until = for_ms.map(|ms| Millis(self.engine.now().wall.0 + ms));
        let put = PutLimit {
            key: LimitKey::parse(key).unwrap(),
            tenant: None,
            numbers: Some((numbers.into(), until)),
            feedback: None,
            paused_until: None,
            reason: None,
        };
        assert!(matches!(self.apply(Command::PutLimit(put.into())), Reply::Limit(_)));
    }

    /// The stored state of a job; `None` if it was deleted.
    pub fn state(&self, seq: Seq) -> Option<State> {
        let live = self.live.get(&seq).map(|live| live.state);
        live.or_else(|| self.done.get(&seq).map(|done| done.ending.state()))
    }

    /// When a store says that a job is due.
    pub fn due(&self, seq: Seq) -> Option<Millis> {
        self.live.get(&seq).and_then(|live| live.due)
    }

    /// Limits whose counters a store would have.
    pub fn limit_rows(&self) -> usize {
        self.rows.keys().filter(|(kind, _)| *kind == RowKind::LimitState).count()
    }

    /// The bytes that the last command added to the journal.
    pub fn journaled(&self) -> usize {
        self.journal.get(&self.number).map_or(0, Vec::len)
    }

    pub fn wall(&self) -> Millis {
        self.engine.now().wall
    }

    pub fn has_event(&self, wanted: impl Fn(&EventKind) -> bool) -> bool {
        self.events.iter().any(wanted)
    }
}
