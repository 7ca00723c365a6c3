//! The one place where anything is decided.
//!
//! A deterministic state machine: commands in, effects out; time is one of the commands. It has no clock, does no I/O, draws
//! no random numbers and never waits. The same inputs give the same outputs, which is what makes a
//! failing simulation repeatable from its seed and lets one set of rules serve every store.
//!
//! Start reading at [`Command`] and [`Effects`].

mod active;
mod classes;
mod clock;
mod command;
mod commands;
mod config;
mod cron;
mod effect;
mod engine;
mod in_flight;
mod inspect;
mod restore;
mod sched;
mod stats;
mod timers;
mod watch;
mod worker;

pub use clock::Now;
pub use command::{
    Ack, Beat, Command, CronSpec, Failure, Fetch, HandlerCode, Holder, Nack, QueueSettings,
    Registration, Settle, Target, WaiterId,
};
pub use config::{Config, Retention};
pub use cron::{CronView, Overlap};
pub use effect::{
    Accepted, BeatReply, Changed, Claimed, Effects, Event, EventKind, JobRef, Refusal, Reply,
    Settled,
};
pub use engine::Engine;
pub use in_flight::InFlight;
pub use inspect::{ActiveView, Maintenance, QueueView, Totals, WorkerState, WorkerView};
pub use restore::Restore;
pub use stats::{Histogram, Interval};
