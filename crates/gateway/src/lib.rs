//! An OJS server in front of the servers of many regions.
//!
//! The gateway keeps nothing: a new job goes to the region that is chosen for it, a request about a job to the job's
//! region, and lists are put together from all regions. What happens to each request of the API is in [`routes`].

#![warn(missing_docs)]

mod answer;
mod bodies;
mod caller;
mod fetch;
mod gateway;
mod heartbeat;
mod jobs;
mod lists;
mod log_events;
mod merge;
mod overview;
mod route_table;
mod schedule;
mod settle;

pub use gateway::{Gateway, GatewayError};
pub use route_table::{Handling, handling_table, routes};
