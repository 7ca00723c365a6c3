//! `rota work` as a process, with real commands and a real server.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod worker_setup;

mod job_counts;
mod lost_jobs;
mod outcomes;
mod output;
mod server_away;
mod start_errors;
mod stopping;
mod timeouts;
