//! Everything that can happen to the engine.
//!
//! A command names jobs by `J`: a client's request by their ids, and what the engine applies by a
//! [`Target`], which says where each job stands right now. [`Command::resolve`] turns one into the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use rota_model::cron::Schedule;
use rota_model::envelope::NewJob;
use rota_model::row::JobRow;
use rota_model::{
    Class, CronName, Directive, JobId, LimitKey, LimitNumbers, Live, Millis, Overdue, PoolConfig,
    PoolName, QueueName, QueueStrategy, Rate, Seq, State, TenantConfig, TenantId, Weight, WorkerId,
};
use serde::{Deserialize, Serialize};

use crate::{Bounds, Now, Overlap};

#[derive(Debug, Clone)]
pub enum Command<J = Target> {
    /// Accept jobs, all or none, now or when there is room for them.
    Enqueue(Enqueue),
    /// Give a worker jobs, now or when the first arrives.
    Fetch(Fetch),
    /// A waiting fetch gave up.
    StopWaiting(WaiterId),
    /// Answer all waiting fetches, and let none wait from now on: the process is about to end.
    EndWaiting,
    /// Claims whose receiver was gone: those executions never began.
    Undelivered(Vec<(Seq, u32)>),
    /// Executions ended, well or badly. Each is answered for itself.
    Settle(Vec<Settle<J>>),
    /// A worker is alive.
    Beat(Beat<J>),
    Register(Registration),
    /// On behalf of a tenant, unless an operator says it.
    Deregister(WorkerId, Option<TenantId>),
    /// Remove a worker that has been silent for too long, and take its jobs back.
    DropStaleWorker(WorkerId),
    /// Tell a worker what to become at its next heartbeat.
    Direct(WorkerId, Directive),
    /// No job may be named twice; the same holds for the lists below.
    Cancel(Vec<J>),
    /// Make pending jobs available.
    Activate(Vec<J>),
    /// Make finished jobs available again.
    Retry(Vec<J>),
    /// Remove jobs for good, living or finished, unless they are active.
    Delete(Vec<J>),
    /// Remove finished jobs whose retention has passed.
    Forget(Overdue),
    PauseQueue(QueueName),
    ResumeQueue(QueueName),
    ConfigureQueue(QueueName, QueueSettings),
    /// Forget a queue that has no living jobs, with its settings, pauses, limit and statistics.
    DeleteQueue(QueueName),
    /// Hand out no more of a tenant's jobs in a queue, or do so again.
    PauseShard(TenantId, QueueName),
    ResumeShard(TenantId, QueueName),
    PutTenant(TenantId, TenantChange),
    /// Forget what was said about a tenant, and the tenant itself when the configuration does not name it.
    /// It must have no living jobs.
    DeleteTenant(TenantId, Option<String>),
    /// End an automatic throttle.
    ReleaseTenant(TenantId, Option<String>),
    PutPool(PoolName, Box<PoolConfig>),
    RemovePool(PoolName),
    PutLimit(Box<PutLimit>),
    /// Forget everything that was said about a limit.
    ClearLimit(LimitKey, Option<TenantId>),
    PutCron(Box<CronSpec>),
    RemoveCron(CronName),
    EnableCron(CronName, bool),
    /// Stop or resume all dispatching, schedules and timers.
    Maintain {
        enabled: bool,
        reason: Option<String>,
        expected_ms: Option<u64>,
    },
    /// Let time pass until then, and do what has become due, a bounded amount at a time. Only this
    /// moves time: between looking a job up and acting on it nothing may happen to it.
    Tick(Now),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaiterId(pub u64);

#[derive(Debug, Clone)]
pub struct Enqueue {
    pub jobs: Vec<NewJob>,
    /// Wait this long for room, under this name, where the queue lets enqueues wait.
    pub wait: Option<(WaiterId, u64)>,
}

#[derive(Debug, Clone)]
pub struct Fetch {
    /// In order of preference; none means those of the pool.
    pub queues: Vec<QueueName>,
    pub count: usize,
    pub worker: Option<WorkerId>,
    pub pool: Option<PoolName>,
    /// Only jobs of this tenant.
    pub tenant: Option<TenantId>,
    /// Counts where no pool says otherwise.
    pub preference: Option<Preference>,
    pub visibility_ms: Option<u64>,
    /// Wait this long for the first job, under this name.
    pub wait: Option<(WaiterId, u64)>,
}

impl Fetch {
    /// From anyone, for jobs of anyone, and only if there are any.
    #[must_use]
    pub fn of(queues: Vec<QueueName>, count: usize) -> Self {
        Self {
            queues,
            count,
            worker: None,
            pool: None,
            tenant: None,
            preference: None,
            visibility_ms: None,
            wait: None,
        }
    }
}

/// How a worker would like its queues to be served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preference {
    pub strategy: QueueStrategy,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<QueueName, Weight>,
}

/// What is said about a tenant through the API.
#[derive(Debug, Clone)]
pub struct TenantChange {
    pub config: TenantConfig,
    /// What was done, for the log of changes.
    pub what: &'static str,
    pub reason: Option<String>,
}

/// What is said about a limit. What is absent stays as it is.
#[derive(Debug, Clone)]
pub struct PutLimit {
    pub key: LimitKey,
    pub tenant: Option<TenantId>,
    /// Other numbers: until then, or for good.
    pub numbers: Option<(NumbersEdit, Option<Millis>)>,
    /// Nothing starts until then; the past ends a pause.
    pub paused_until: Option<Millis>,
    pub reason: Option<String>,
}

/// A change of a limit's numbers: each stays, goes, or becomes another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NumbersEdit {
    pub concurrency: Option<Option<u32>>,
    pub rate: Option<Option<Rate>>,
    pub throttle: Option<Option<Rate>>,
}

impl NumbersEdit {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn of(self, old: LimitNumbers) -> LimitNumbers {
        LimitNumbers {
            concurrency: self.concurrency.unwrap_or(old.concurrency),
            rate: self.rate.unwrap_or(old.rate),
            throttle: self.throttle.unwrap_or(old.throttle),
        }
    }
}

/// All of them anew.
impl From<LimitNumbers> for NumbersEdit {
    fn from(numbers: LimitNumbers) -> Self {
        let LimitNumbers { concurrency, rate, throttle } = numbers;
        Self { concurrency: Some(concurrency), rate: Some(rate), throttle: Some(throttle) }
    }
}

/// Who says that an execution has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holder {
    pub worker: Option<WorkerId>,
    pub attempt: Option<u32>,
}

#[derive(Debug, Clone)]
pub enum Settle<J = Target> {
    Ack(Ack<J>),
    Nack(Nack<J>),
}

#[derive(Debug, Clone)]
pub struct Ack<J = Target> {
    pub job: J,
    pub holder: Holder,
    pub result: Option<Bytes>,
}

#[derive(Debug, Clone)]
pub struct Nack<J = Target> {
    pub job: J,
    pub holder: Holder,
    pub failure: Failure,
    /// Put it back at once: the worker could not run it.
    pub requeue: bool,
}

/// What went wrong, ready to be kept.
#[derive(Debug, Clone)]
pub struct Failure {
    pub kind: Arc<str>,
    pub code: Option<HandlerCode>,
    pub retryable: bool,
    /// The handler met a limit elsewhere, which lasts until then.
    pub limited_until: Option<Millis>,
    /// JSON members (type, message, ...) without braces.
    pub json: Bytes,
}

/// A handler's own word on what should follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerCode {
    Retry,
    Discard,
    DeadLetter,
}

/// A job named by a client.
#[derive(Debug, Clone)]
pub struct Target {
    pub seq: Seq,
    pub id: JobId,
    /// Where it stands. The engine knows active jobs better and does not look here for those.
    pub now: JobRow,
}

impl Target {
    #[must_use]
    pub fn state(&self) -> State {
        self.now.state()
    }

    pub(crate) fn live(&self) -> Option<&Live> {
        match &self.now {
            JobRow::Live(live) => Some(live),
            JobRow::Done(_) => None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Beat<J = Target> {
    pub worker: WorkerId,
    /// What the worker says of itself.
    pub state: Option<Directive>,
    /// The jobs that it is running.
    pub jobs: Vec<J>,
    pub visibility_ms: Option<u64>,
    /// Fields of a registration that heartbeats may repeat.
    pub about: Registration,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    pub worker: WorkerId,
    /// On whose behalf the worker speaks. What is kept is who it was when it was first met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// JSON that only clients read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Value>,
}

/// An operator's settings for one queue; what is absent follows the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueSettings {
    /// The most jobs that may be active at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

/// A recurring schedule, checked and ready.
#[derive(Debug, Clone)]
pub struct CronSpec {
    pub name: CronName,
    pub expression: String,
    pub timezone: String,
    pub schedule: Schedule,
    pub overlap: Overlap,
    pub enabled: bool,
    pub class: Class,
    /// A job's body; each run gets its own id in it.
    pub body: Bytes,
    /// A JSON object to show to clients: type, args, options, description ...
    pub shown: Bytes,
}

impl Registration {
    /// A worker about which nothing but its name is known.
    #[must_use]
    pub fn named(worker: WorkerId) -> Self {
        Self {
            worker,
            tenant: None,
            hostname: None,
            pid: None,
            queues: Vec::new(),
            concurrency: None,
            labels: Vec::new(),
            pool: None,
            preference: None,
            version: None,
            started_at: None,
            metadata: None,
        }
    }
}

impl Failure {
    /// A failure that the server itself found.
    pub(crate) fn by_server(kind: &'static str, message: &str) -> Self {
        let json =
            format!(r#""type":"{kind}","code":"{kind}","message":"{message}","retryable":true"#);
        Self {
            kind: kind.into(),
            code: None,
            retryable: true,
            limited_until: None,
            json: json.into(),
        }
    }
}

/// When something begins that is counted in wall-clock time.
pub(crate) fn later(now: Millis, ms: u64) -> Millis {
    Millis(now.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}
