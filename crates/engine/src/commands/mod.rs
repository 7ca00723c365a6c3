//! One file for each command.

mod activate;
mod admit;
mod advance;
mod backpressure;
mod bounds;
mod cancel;
mod cron;
mod delete;
mod drop_oldest;
mod enqueue;
mod fetch;
mod heartbeat;
mod limit;
mod limited;
mod maintenance;
mod overload;
mod pool;
mod queue;
mod retry;
mod room;
mod settle;
mod statistics;
mod sweep;
mod tenant;
mod waiting;
mod worker;

pub(crate) use maintenance::MAINTENANCE;
pub(crate) use statistics::{ALL_QUEUES, start_of};
