//! One file for each command.

mod activate;
mod admit;
mod advance;
mod ask;
mod backpressure;
mod bounds;
mod cancel;
mod caps;
mod cron;
mod delete;
mod drop_oldest;
mod enqueue;
mod fetch;
mod heartbeat;
mod limit_admin;
mod limit_use;
mod maintenance;
mod pool;
mod pool_events;
mod queue;
mod retry;
mod retry_after;
mod settle;
mod statistics;
mod sweep;
mod tenant;
mod waiting;
mod worker;

pub(crate) use maintenance::MAINTENANCE;
pub(crate) use statistics::{ALL_QUEUES, OpenIntervals, history_row};
