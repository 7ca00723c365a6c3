//! The commands that talk to a server, each as a process, against a real server.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod child_processes;
mod fake;
mod run;

mod audit;
mod bench;
mod bench_bad_servers;
mod bench_interrupted;
mod client;
mod closed_pipes;
mod completions;
mod cron;
mod dead_letter;
mod demo;
mod demo_regions;
mod doctor;
mod enqueue;
mod enqueue_file;
mod enqueue_limits;
mod events;
mod explain;
mod fairness;
mod flags_first;
mod health;
mod help;
mod hints;
mod jobs;
mod jobs_change;
mod jobs_list;
mod keys;
mod limits;
mod maintenance;
mod narrow;
mod no_server;
mod numbers;
mod pools;
mod queue_limits;
mod queues;
mod tenant_flag;
mod tenants;
mod tenants_change;
mod tenants_top;
mod work_tenant;
mod workers;
