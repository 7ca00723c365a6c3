//! A federated client with real servers as its regions: killed, stopped and started again.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod gateway_process;
mod regions;

mod ambiguous;
mod failover;
mod gateway;
mod gateway_faults;
mod registry;
