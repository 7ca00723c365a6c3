//! The engine by itself, at a time of the test's choosing: who is served, when, and how often.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod bounds;
mod limits;
mod pools;
mod restart;
mod schedules;
mod tenants;
mod turns;
mod world;
