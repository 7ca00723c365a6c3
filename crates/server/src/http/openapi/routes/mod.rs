//! The descriptions of all routes, by group.

mod cron;
mod dead_letter;
mod events;
mod jobs;
mod keys;
mod limits;
mod queues;
mod system;
mod tenants;
mod workers;

use super::operation::Operation;

/// A group of routes, and what it is about.
pub(super) struct Group {
    pub name: &'static str,
    pub about: &'static str,
    pub operations: Vec<Operation>,
}

pub(super) fn groups() -> Vec<Group> {
    let group = |name, about, operations| Group { name, about, operations };
    vec![
        group("jobs", "Enqueue, read, change and cancel jobs.", jobs::operations()),
        group("workers", "Fetch jobs, report outcomes, and manage workers.", workers::operations()),
        group("queues", "Queues, their configuration and statistics.", queues::operations()),
        group("dead-letter", "Jobs that have failed permanently.", dead_letter::operations()),
        group("cron", "Jobs that run by a schedule.", cron::operations()),
        group("events", "What has happened, as a list and as streams.", events::operations()),
        group("limits", "Rate limits and pools of workers.", limits::operations()),
        group("tenants", "Tenants, their limits, usage and shares.", tenants::operations()),
        group("keys", "API keys.", keys::operations()),
        group("system", "Health, statistics and settings of the server.", system::operations()),
    ]
}
