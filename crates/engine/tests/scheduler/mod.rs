//! The scheduler by itself: no engine, no store, and time is what the test says.

mod keys;
mod limits;
mod queues;
mod stand;
mod turns;
mod waiting;
