//! The routes for operators, under `/ojs/v1/admin`.

pub(super) mod audit;
pub(super) mod bulk;
pub(super) mod dead_letter;
mod dead_letter_config;
pub(super) mod explain;
pub(super) mod fairness;
pub(super) mod jobs;
pub(in crate::http) mod keys;
pub(super) mod pools;
mod purge;
pub(super) mod queue_config;
pub(super) mod queue_delete;
pub(super) mod queues;
pub(super) mod scheduling;
pub(super) mod stats;
pub(super) mod system;
pub(super) mod tenants;
pub(super) mod totals;
pub(super) mod workers;
