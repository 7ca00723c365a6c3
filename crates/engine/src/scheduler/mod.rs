//! Which job starts next.
//!
//! The scheduler owns everything that decides it: lanes of waiting jobs, the turns of tenants, the
//! limits that pause jobs back, how queues take turns, and the fetches that wait for a job. It knows
//! nothing of durability, events or statistics: jobs enter, leave, start and end, and it answers with
//! picks and notices. Time is what it was last notified.
//!
//! A **lane** is a FIFO of waiting jobs that look alike to the scheduler. A **turn** is one tenant's
//! lanes at one level of priority of one queue. A turn that has something to be served is in a ring,
//! ordered by what its tenant has had (see [`account`]); one that has not is in none, so that finding
//! the next job costs the same whatever waits behind it.

mod account;
mod admin;
mod bookings;
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
mod parts;
mod pick;
mod placing;
mod pool;
mod queue;
mod queue_gate;
mod queue_turns;
mod reconfigure;
mod restore;
mod ring;
mod rotation;
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
pub(crate) use fetches::Waits;
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
