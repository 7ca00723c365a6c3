//! The protocol, spoken to a real server.
//!
//! A test that is ignored as a bug asserts what should be; it is there to be enabled by the fix.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod event_stream_reader;
mod shorthand;
mod states;
mod web_socket_connections;
mod web_socket_reader;

mod ack_and_nack;
mod admin_aliases;
mod admin_bulk;
mod admin_clients;
mod admin_jobs;
mod admin_queues;
mod admin_stats;
mod admin_workers;
mod answer_bytes;
mod answer_forms;
mod audit;
mod batch;
mod channels;
mod closed_objects;
mod cooperative_cancel;
mod cors;
mod counts;
mod cron_control;
mod cron_overlap;
mod cron_registry;
mod cron_runs;
mod dead_letter;
mod dead_letter_care;
mod envelope;
mod event_streams;
mod events;
mod expiry;
mod fetch;
mod fetch_waiting;
mod headers;
mod illegal_transitions;
mod job_ids;
mod lifecycle;
mod list_pages;
mod maintenance;
mod multiline_json;
mod not_found;
mod openapi;
mod priority_change;
mod query_params;
mod queue_creation;
mod races;
mod results;
mod retention;
mod retry_delays;
mod retry_outcomes;
mod scheduling;
mod sdk;
mod settle_lists;
mod unsupported_features;
mod visibility;
mod web_sockets;
mod workers;
