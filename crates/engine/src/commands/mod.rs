//! One file for each command.

mod activate;
mod advance;
mod cancel;
mod cron;
mod delete;
mod enqueue;
mod fetch;
mod heartbeat;
mod maintenance;
mod queue;
mod retry;
mod settle;
mod statistics;
mod waiting;
mod worker;

pub(crate) use maintenance::MAINTENANCE;
pub(crate) use statistics::{ALL_QUEUES, start_of};
