//! The engine by itself, at a time of the test's choosing: who is served, when, and how often.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod bounds;
mod keys;
mod limit_memory;
mod limits;
mod on_limit;
mod own_workers;
mod pools;
mod restart;
mod rotations;
mod schedules;
mod shares;
mod steps;
mod tenants;
mod throttles;
mod turns;
mod waiting_fetches;
mod world;
