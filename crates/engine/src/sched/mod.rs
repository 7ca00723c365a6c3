//! Which job is next.
//!
//! A lane is a FIFO of waiting jobs of one class. A queue keeps its non-empty lanes by priority
//! and, inside a priority, by the age of their heads.

mod fifo;
mod lane;
mod queue;
mod waiters;

pub(crate) use lane::Lanes;
pub(crate) use queue::{Queue, QueueIx, QueueRow, Queues};
pub(crate) use waiters::Waiters;
