//! A federated client with real servers as its regions: killed, stopped and started again.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

#[path = "../transport/authority.rs"]
#[allow(dead_code)]
mod authority;

mod gateway_process;
mod networks;
mod regions;
mod registry_endpoint;
mod relay;

mod ambiguous;
mod failover;
mod gateway;
mod gateway_callers;
mod gateway_faults;
mod partitions;
mod registry;
mod slow_regions;
