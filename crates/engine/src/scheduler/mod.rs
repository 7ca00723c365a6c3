//! The scheduler: which job starts next.
//!
//! It owns everything that the decision depends on: lanes of waiting jobs, tenants' turns and
//! accounts, limits, pools, rotations and waiting fetches. It knows nothing of durability, events or
//! clocks. The engine tells it that jobs enter, leave, start and end, and what time it is; it returns
//! picks and notices.
//!
//! A **lane** is the FIFO of waiting jobs of one class. A **turn** is one tenant's lanes at one level
//! of one queue. While a turn can be served, it is in a ring, ordered by what its tenant has been
//! served (see [`account`]). Otherwise it is in none, so finding the next job costs the same whatever
//! is blocked. ARCHITECTURE.md describes the decision and defines the terms.

mod account;
mod admin;
mod bookings;
mod chances;
mod common_parts;
mod deferring;
mod entitlement;
mod fetches;
mod fifo;
mod forget;
mod groups;
mod lane;
mod late_order;
pub(crate) mod limits;
mod members;
mod next;
mod next_in_pool;
mod next_of_tenant;
mod notice;
mod offers;
mod own_parts;
mod parts;
mod pick;
mod placing;
mod pool;
mod pool_index;
mod pools;
mod queue;
mod queue_gate;
mod queue_turns;
mod reconfigure;
mod restore;
mod ring;
mod rotation;
mod rotation_queues;
mod rotation_rules;
mod rotations;
mod rule_changes;
mod size;
mod sleeping;
mod small_map;
mod starts;
mod state;
mod sweeps;
mod tag;
mod turn;
mod types;
mod view;
mod waking;
mod yielding;

pub(crate) use account::{AccountIx, Owner};
pub(crate) use bookings::Forward;
pub(crate) use entitlement::Eligible;
pub(crate) use fetches::NewWaiter;
pub(crate) use lane::WaitingJob;
pub(crate) use notice::Notice;
pub(crate) use pick::{FetchRequest, Pick, RequestedQueues};
pub(crate) use pool::{Pool, PoolChange, PoolRow};
pub(crate) use reconfigure::Reconfigured;
pub(crate) use rotation::RotationIx;
pub(crate) use rotation_rules::{ChangedRotation, RotationKey, RotationRules};
pub(crate) use rotations::MOST_SHARED_SETS;
pub(crate) use size::Size;
pub(crate) use starts::{Correction, Ended};
pub(crate) use state::{ClassRules, NewShard, Scheduler, TenantRules};
pub(crate) use sweeps::Swept;
pub(crate) use tag::Tag;

#[cfg(test)]
#[path = "../../tests/scheduler/mod.rs"]
mod suite;
