//! The engine by itself, at a time of the test's choosing: who is served, when, and how often.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod bounds;
mod caps;
mod debts;
mod entitled;
mod figures;
mod guaranteed_parts;
mod idle;
mod keys;
mod lifecycle;
mod limit_caps;
mod limit_memory;
mod limits;
mod noise;
mod on_limit;
mod own_workers;
mod pools;
mod put_off;
mod queue_caps;
mod queue_turns;
mod queues;
mod restart;
mod rotations;
mod schedules;
mod settle;
mod shares;
mod slices;
mod statistics;
mod steps;
mod tenants;
mod throttles;
mod turns;
mod undelivered;
mod usage;
mod waiting_enqueues;
mod waiting_fetches;
mod world;
