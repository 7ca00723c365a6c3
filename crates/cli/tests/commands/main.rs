//! The commands that talk to a server, each as a process, against a real server.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod fake;
mod run;

mod bench;
mod bench_ending;
mod bench_wrong;
mod client;
mod completions;
mod cron;
mod dead_letter;
mod enqueue;
mod enqueue_file;
mod health;
mod help;
mod jobs;
mod jobs_change;
mod jobs_list;
mod no_server;
mod pipes;
mod queues;
mod workers;
