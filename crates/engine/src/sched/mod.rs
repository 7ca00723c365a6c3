//! Which job is next.
//!
//! A lane is a FIFO of waiting jobs of one class. A queue keeps, for each level of priority, a
//! ring of turns: the tenants that have lanes there which may be served. Whoever may not be served
//! is in no ring, so that finding the next job costs the same whatever waits behind it.

mod fifo;
mod lane;
mod place;
mod population;
mod queue;
mod rotation;
mod seat;
mod settle;
mod shard;
mod size;
mod turn;
mod waiters;

pub(crate) use lane::{Lanes, Place, Waiting};
pub use population::Population;
pub(crate) use population::push_to_few;
pub use queue::{Backpressure, Bounds};
pub(crate) use queue::{Queue, QueueIx, QueueRow, Queues};
pub(crate) use rotation::{Candidate, Rotation, Rotations};
pub(crate) use shard::{ShardIx, Shards};
pub(crate) use size::Size;
pub(crate) use turn::{LaneKey, Level, Order, Seat, Tag, Turn, TurnIx, Turns};
pub(crate) use waiters::{Aside, Waiters};
