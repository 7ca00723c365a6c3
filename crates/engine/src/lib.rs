//! The engine: the deterministic state machine that makes every decision.
//!
//! Commands go in, effects come out, and time is one of the commands. The engine has no clock, does
//! no I/O, draws no random numbers and never waits. The same inputs give the same outputs, so a
//! failing simulation can be repeated from its seed, and one set of rules serves every store.
//!
//! Start reading at [`Command`] and [`Effects`].

mod account_watch;
mod active;
mod admission;
mod audit_log;
mod caps;
mod class_home;
mod classes;
mod clock;
mod command;
mod commands;
mod config;
mod counting;
mod creation;
mod cron;
mod cron_history;
mod cron_table;
mod dead_letter;
mod deadlines;
mod effect;
mod engine;
mod event;
mod exact_vec;
mod hasher;
mod idle;
mod idle_limits;
mod in_flight;
mod inspect;
mod job_counts;
mod journal;
mod keys;
mod limit_owners;
mod limit_watch;
mod median;
mod meters;
mod noisy_tenants;
mod pool_watch;
mod queue;
mod refusal;
mod registration;
mod resolve;
mod restore;
mod runtimes;
mod scheduler;
mod settlement;
mod shard;
mod slab;
mod stats;
mod stored_bytes;
mod tenant;
mod timers;
mod transitions;
mod unchanged;
mod worker;
mod worker_tallies;

pub use audit_log::{AuditLimits, Audited};
pub use caps::{Asker, CapCounter, CapReached, Capped};
pub use clock::{Now, Timekeeper};
pub use command::{
    Beat, Command, CronSpec, Enqueue, Fetch, NewPriority, NumbersEdit, Override, Prune, PutLimit,
    QueueSettings, RotateKey, SeenJob, Selected, Target, TenantChange, Unchanged, Undelivered,
    WaiterId,
};
pub use config::{Caps, Config, Cost, FairStrategy, Fairness, Noisy, PriorityScope, Retention};
pub use cron::{CronView, Overlap};
pub use cron_history::{CronExecution, CronJob};
pub use dead_letter::{DeadLetterLimits, DeadShardView, PruneWork};
pub use effect::{
    Accepted, Admission, BeatReply, Changed, Claimed, Effects, LimitStatus, Pressure, Reply,
    Settled,
};
pub use engine::Engine;
pub use event::{Event, EventKind, JobRef};
pub use in_flight::{InFlight, Pin};
pub use inspect::{
    ActiveView, Explained, IsolationMismatch, LabelView, LimitMeter, LimitName, LimitSlice,
    LimitView, Maintenance, PoolView, QueueMeter, QueueShare, QueueView, RankBy, Reason, ShardView,
    ShareView, TenantView, Totals, WorkerState, WorkerView,
};
pub use job_counts::JobCounts;
pub use journal::UnwrittenUsage;
pub use keys::KeyChange;
pub use meters::{LabelIx, Meter, MetricBounds, Times};
pub use noisy_tenants::Noisiness;
pub use queue::{Backpressure, Bounds};
pub use refusal::Refusal;
pub use registration::{Preference, Registration};
pub use resolve::Resolved;
pub use restore::Restore;
pub use scheduler::limits::LimitKind;
pub use settlement::{Ack, Failure, HandlerCode, Holder, Nack, Settle};
pub use stats::{Histogram, Interval};
pub use tenant::{Change, ConfigOrigin, RequestLimitChange, Tally, Throttle};
pub use worker_tallies::WorkerCounts;

pub use rota_model::Cap;
