//! How each command is carried out, one file per command or group of commands.

mod activate;
mod advance;
mod cancel;
mod cron;
mod dead_letter;
mod delete;
mod enqueue;
mod fetch;
mod fetch_request;
mod heartbeat;
mod key;
mod limit_admin;
mod limit_use;
mod maintenance;
mod pool;
mod pool_events;
mod priority;
mod queue;
pub(crate) mod resume;
mod retry;
mod settle;
mod statistics;
mod sweep;
mod tenant;
mod waiting;
mod worker;

pub(crate) use maintenance::MAINTENANCE;
pub(crate) use statistics::{ALL_QUEUES, OpenIntervals, history_row};
