//! The scheduler by itself: no engine, no store, and time is what the test says.

mod guarantees;
mod harness;
mod keys;
mod limits;
mod queues;
mod rotation;
mod turns;
mod waiting;
