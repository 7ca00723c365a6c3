//! The one place where anything is decided.
//!
//! A deterministic state machine: commands in, effects out; time is one of the commands. It has no clock, does no I/O, draws
//! no random numbers and never waits. The same inputs give the same outputs, which is what makes a
//! failing simulation repeatable from its seed and lets one set of rules serve every store.
//!
//! Start reading at [`Command`] and [`Effects`].

mod account_watch;
mod active;
mod admission;
mod caps;
mod class_home;
mod classes;
mod clock;
mod command;
mod commands;
mod config;
mod counting;
mod cron;
mod effect;
mod engine;
mod event;
mod hasher;
mod idle;
mod idle_limits;
mod in_flight;
mod inspect;
mod journal;
mod limit_owners;
mod limit_watch;
mod median;
mod meters;
mod noise;
mod pool_watch;
mod population;
mod queue;
mod refusal;
mod resolve;
mod restore;
mod runtimes;
mod scheduler;
mod shard;
mod slots;
mod stats;
mod tenant;
mod timers;
mod watch;
mod worker;
mod worker_tallies;

pub use caps::{Asker, CapCounter, CapReached, Capped};
pub use clock::Now;
pub use command::{
    Ack, Beat, Command, CronSpec, Enqueue, Failure, Fetch, HandlerCode, Holder, Nack, NumbersEdit,
    Preference, PutLimit, QueueSettings, Registration, Settle, Target, TenantChange, WaiterId,
};
pub use config::{Caps, Config, Cost, FairStrategy, Fairness, Noisy, PriorityScope, Retention};
pub use cron::{CronView, Overlap};
pub use effect::{
    Accepted, Admission, BeatReply, Changed, Claimed, Effects, LimitGlance, Pressure, Reply,
    Settled,
};
pub use engine::Engine;
pub use event::{Event, EventKind, JobRef};
pub use in_flight::InFlight;
pub use inspect::{
    ActiveView, Explained, LabelView, LimitMeter, LimitName, LimitSlice, LimitView, Maintenance,
    Misplaced, Most, PoolView, QueueMeter, QueueShare, QueueView, Reason, ShardView, ShareView,
    TenantView, Totals, WorkerState, WorkerView,
};
pub use journal::UnwrittenUsage;
pub use meters::{LabelIx, Meter, MetricBounds, Times};
pub use noise::Noisiness;
pub use population::Population;
pub use queue::{Backpressure, Bounds};
pub use refusal::Refusal;
pub use resolve::Resolved;
pub use restore::Restore;
pub use scheduler::limits::LimitKind;
pub use stats::{Histogram, Interval};
pub use tenant::{Change, Origin, Tally, Throttle};
pub use worker_tallies::WorkerCounts;

pub use rota_model::Cap;
