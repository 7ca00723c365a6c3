//! Tenants, fairness, limits and backpressure, spoken to a real server.
//!
//! `docs/conformance.md` maps each row of the documents to its test.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

#[path = "../protocol/shorthand.rs"]
mod shorthand;

mod api;
mod queue_weights;
mod usage;
mod watch;

mod backpressure;
mod backpressure_waiting;
mod byte_limits;
mod caps;
mod events;
mod explain;
mod isolation_change;
mod isolation_models;
mod metrics;
mod metrics_labels;
mod metrics_tenants;
mod namespace_operators;
mod namespaces;
mod noisy_signals;
mod noisy_tenants;
mod operators_only;
mod pool_limits;
mod pool_registration;
mod pools;
mod priority_and_tenants;
mod queue_caps;
mod queue_configuration;
mod queue_deletion;
mod queue_limits;
mod rate_limit_actions;
mod rate_limit_admin;
mod rate_limit_declared;
mod rate_limit_owners;
mod rate_limit_pause;
mod rate_limit_scope;
mod rate_limit_shapes;
mod rate_limit_waking;
mod rate_limit_windows;
mod rate_limits;
mod rejected_enqueues;
mod share_scopes;
mod soft_quotas;
mod spec_backpressure;
mod spec_fair_scheduling;
mod spec_multi_tenancy;
mod spec_rate_limiting;
mod starvation;
mod stored_bytes;
mod strategies;
mod tenant_admin;
mod tenant_batches;
mod tenant_deletion;
mod tenant_fairness;
mod tenant_identity;
mod tenant_isolation;
mod tenant_limits;
mod tenant_lists;
mod tenant_restart;
mod tenant_scope;
mod tenant_source;
mod unknown_fields;
mod worker_owners;
