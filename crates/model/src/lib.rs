//! The domain types of Rota: ids, names, times, states, policies, the job envelope and the mutations.
//!
//! Plain data and pure functions. Nothing here reads a clock, does I/O or blocks.

#![warn(missing_docs)]

pub mod audit;
pub mod cap;
pub mod class;
pub mod cron;
pub mod dead_letter;
pub mod durability;
pub mod duration;
pub mod envelope;
pub mod fairness;
pub mod id;
pub mod job_change;
pub mod json;
pub mod limit;
pub mod mutation;
pub mod name;
mod nearest;
pub mod policy;
pub mod pool;
pub mod reject;
pub mod request_limit;
pub mod row;
mod splitmix;
pub mod state;
pub mod tenant;
pub mod time;
pub mod usage;

pub use cap::Cap;
pub use class::{Class, ClassId};
pub use dead_letter::{
    DeadLetterSettings, DeadRow, DeadShardId, DueReplay, PruningPolicy, ReplayFilter, ReplayRule,
    Replays,
};
pub use durability::Durability;
pub use fairness::{Cost, FairStrategy, FairnessScope, PriorityScope};
pub use id::{IdKey, JobId, Seq};
pub use job_change::JobChange;
pub use limit::{DeclaredLimit, Feedback, LimitNumbers, OnLimit, Rate, RateLimit, Scope};
pub use name::{CronName, JobType, LimitKey, PoolName, QueueName, RuleName, TenantId, WorkerId};
pub use nearest::nearest;
pub use policy::{Directive, Exhaustion, Policy, RetryPolicy};
pub use pool::{PoolConfig, PoolTenants, QueueStrategy, Starvation};
pub use reject::{Rejection, RejectionKind};
pub use request_limit::{RequestLimit, RequestLimits, RequestRate};
pub use row::{Done, Ending, ErrorRow, Live, Overdue};
pub use splitmix::SplitMix64;
pub use state::State;
pub use tenant::{Quota, TenantConfig, Weight};
pub use time::Millis;
