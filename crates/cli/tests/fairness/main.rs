//! Tenants, fairness, limits and backpressure, spoken to a real server.
//!
//! `docs/conformance.md` maps each row of the documents to its test.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

// This binary uses only a part of it.
#[allow(dead_code)]
#[path = "../protocol/shorthand.rs"]
mod shorthand;

mod api;
mod watch;

mod isolation_models;

mod noisy;
mod noisy_signals;

mod priority_and_tenants;

mod soft_quotas;

mod tenant_admin;
mod tenant_batches;
mod tenant_deletion;
mod tenant_fairness;
mod tenant_identity;
mod tenant_isolation;
mod tenant_limits;
mod tenant_lists;
mod tenant_restart;
