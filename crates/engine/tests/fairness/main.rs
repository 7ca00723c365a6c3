//! The engine by itself, at a time of the test's choosing: who is served, when, and how often.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod bounds;
mod caps;
mod keys;
mod limits;
mod own_workers;
mod pools;
mod restart;
mod rotations;
mod schedules;
mod shares;
mod steps;
mod tenants;
mod turns;
mod waiting_fetches;
mod world;
