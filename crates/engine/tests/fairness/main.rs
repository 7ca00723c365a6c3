//! The engine by itself, at a time of the test's choosing: who is served, when, and how often.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod account_debts;
mod api_keys;
mod byte_caps;
mod caps;
mod entitled_shares;
mod fair_pools;
mod forgetting_idle;
mod guaranteed_parts;
mod key_limits;
mod key_order;
mod key_order_cost;
mod large_changes;
mod last_minute;
mod lifecycle;
mod limit_caps;
mod limit_memory;
mod noisy_tenants;
mod on_limit;
mod own_keys;
mod own_workers;
mod pauses;
mod pools;
mod priorities;
mod queue_bounds;
mod queue_caps;
mod queue_turns;
mod queues;
mod repeated_reports;
mod rescheduled_jobs;
mod restart;
mod rotations;
mod schedules;
mod scheduling_cost;
mod shares;
mod statistics;
mod tenant_turns;
mod tenants;
mod tenants_pools;
mod throttles;
mod undelivered;
mod usage;
mod waiting_enqueues;
mod waiting_fetches;
mod world;
