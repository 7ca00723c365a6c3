//! Which metrics there are.

use std::collections::BTreeMap;

use rota_engine::Strategy;
use rota_model::{Ending, State};

use super::gather::{Figures, OfLimit, OfQueue, OfShard};
use super::text::Page;
use crate::http::admin::pools::utilization;

/// In milliseconds, as the document on observability recommends them.
const DURATIONS: [u64; 15] =
    [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000];
const WAITS: [u64; 13] = [
    10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000,
];

pub(super) fn render(figures: &Figures) -> String {
    let mut page = Page::default();
    jobs(&mut page, figures);
    queues(&mut page, figures);
    workers(&mut page, figures);
    tenants(&mut page, figures);
    scheduling(&mut page, figures);
    limits(&mut page, figures);
    backpressure(&mut page, figures);
    page.into_text()
}

type CountOfQueue = fn(&OfQueue) -> u64;
type CountOfShard = fn(&OfShard) -> u64;

fn jobs(page: &mut Page, figures: &Figures) {
    let counters: [(&str, &str, CountOfQueue); 6] = [
        ("ojs_job_enqueued_total", "Jobs enqueued.", |queue| queue.past.enqueued),
        ("ojs_job_completed_total", "Jobs completed.", |queue| queue.ended(&[Ending::Completed])),
        (
            "ojs_job_failed_total",
            "Jobs discarded: they failed for good, or a limit dropped them.",
            |queue| queue.ended(&[Ending::Discarded, Ending::DeadLetter]),
        ),
        ("ojs_job_retried_total", "Executions that failed and are repeated.", |queue| {
            queue.retried
        }),
        ("ojs_job_cancelled_total", "Jobs cancelled.", |queue| queue.ended(&[Ending::Cancelled])),
        ("ojs_job_expired_total", "Jobs that were not started in time.", |queue| {
            queue.ended(&[Ending::Expired])
        }),
    ];
    for (name, help, count) in counters {
        let mut family = page.counter(name, help);
        for (queue, of) in &figures.queues {
            family.count(&[("queue", queue)], count(of));
        }
    }
    let help = "Seconds from the start of an execution to its completion.";
    let mut family = page.histogram("ojs_job_duration", help);
    for (queue, of) in &figures.queues {
        family.times(&[("queue", queue), ("state", "completed")], &of.past.run_ms, &DURATIONS);
    }
    let help = "Seconds from the acceptance of a job to its first start.";
    let mut family = page.histogram("ojs_job_queue_time", help);
    for (queue, of) in &figures.queues {
        family.times(&[("queue", queue)], &of.past.wait_ms, &WAITS);
    }
}

fn queues(page: &mut Page, figures: &Figures) {
    let mut family = page.gauge("ojs_queue_depth", "Jobs that have not ended, by state.");
    for (queue, of) in &figures.queues {
        for state in State::ALL.into_iter().filter(|state| !state.is_terminal()) {
            family.count(&[("queue", queue), ("state", state.as_str())], of.of(state));
        }
    }
    let mut family = page.gauge("ojs_queue_size_bytes", "Bytes of the jobs that wait.");
    for (queue, of) in &figures.queues {
        family.count(&[("queue", queue)], of.bytes);
    }
}

fn workers(page: &mut Page, figures: &Figures) {
    let running = figures.workers.get("running").copied().unwrap_or(0);
    page.gauge("ojs_workers_active", "Workers that take jobs.").count(&[], running as u64);
    let mut family = page.gauge("ojs_workers_known", "Workers, by what they are doing.");
    for (state, workers) in &figures.workers {
        family.count(&[("state", state)], *workers as u64);
    }
    let mut family = page.gauge("ojs_workers_busy", "Jobs that are being executed.");
    for (queue, of) in &figures.queues {
        family.count(&[("queue", queue)], of.of(State::Active));
    }
    let waiting = figures.waiting_fetches as u64;
    page.gauge("ojs_workers_waiting", "Fetches that wait for a job.").count(&[], waiting);
}

fn tenants(page: &mut Page, figures: &Figures) {
    page.gauge("ojs_tenants", "Tenants that are known.").count(&[], figures.tenants as u64);
    let counters: [(&str, &str, CountOfShard); 3] = [
        ("ojs_tenant_jobs_enqueued_total", "Jobs enqueued.", |shard| shard.enqueued),
        ("ojs_tenant_jobs_processed_total", "Executions that ended, well or badly.", |shard| {
            shard.completed + shard.failed
        }),
        ("ojs_tenant_jobs_failed_total", "Executions that failed.", |shard| shard.failed),
    ];
    for (name, help, count) in counters {
        let mut family = page.counter(name, help);
        for ((tenant, queue), of) in &figures.shards {
            family.count(&[("tenant_id", tenant), ("queue", queue)], count(of));
        }
    }
    let gauges: [(&str, &str, CountOfShard); 2] = [
        ("ojs_tenant_jobs_active", "Jobs that are being executed.", |shard| shard.active),
        ("ojs_tenant_queue_depth", "Jobs that wait, in whatever way.", |shard| shard.depth),
    ];
    for (name, help, count) in gauges {
        let mut family = page.gauge(name, help);
        for ((tenant, queue), of) in &figures.shards {
            family.count(&[("tenant_id", tenant), ("queue", queue)], count(of));
        }
    }
    let help = "Part of all dispatches of the last minute, from 0 to 1.";
    let mut family = page.gauge("ojs_tenant_fairness_share", help);
    for (tenant, share) in &figures.shares {
        family.add(&[("tenant_id", tenant)], share.min(1.0));
    }
}

fn scheduling(page: &mut Page, figures: &Figures) {
    let help = "Jobs handed out; without a pool where the worker is in none.";
    let mut family = page.counter("ojs_scheduling_dispatch_total", help);
    let mut in_pools: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for pool in &figures.pools {
        for (queue, count) in &pool.dispatched {
            *in_pools.entry(queue.local()).or_default().entry(&pool.name).or_default() += count;
        }
    }
    for (queue, of) in &figures.queues {
        let own = in_pools.get(&**queue);
        for (pool, count) in own.into_iter().flatten() {
            family.count(&[("queue", queue), ("pool", pool)], *count);
        }
        let inside: u64 = own.into_iter().flat_map(BTreeMap::values).sum();
        family.count(&[("queue", queue), ("pool", "")], of.dispatched.saturating_sub(inside));
    }
    let help = "Part of all dispatches of the last minute, from 0 to 1.";
    let mut family = page.gauge("ojs_scheduling_dispatch_ratio", help);
    for (queue, of) in &figures.queues {
        family.add(&[("queue", queue)], of.ratio.min(1.0));
    }
    let help = "Seconds that jobs waited until they were first handed out.";
    let mut family = page.histogram("ojs_scheduling_queue_wait_duration", help);
    for (queue, of) in &figures.queues {
        family.times(&[("queue", queue)], &of.past.wait_ms, &WAITS);
    }
    let help = "Active jobs as a part of those that the pool may have at once.";
    let mut family = page.gauge("ojs_scheduling_pool_utilization", help);
    for pool in &figures.pools {
        if let Some(part) = utilization(pool) {
            family.add(&[("pool", &pool.name)], part);
        }
    }
    let help = "Times that a queue with waiting jobs went without for too long.";
    let mut family = page.counter("ojs_scheduling_starvation_events_total", help);
    for (queue, of) in &figures.queues {
        family.count(&[("queue", queue)], of.starved);
    }
}

fn limits(page: &mut Page, figures: &Figures) {
    type Figure = fn(&OfLimit) -> u64;
    let gauges: [(&str, &str, Figure); 2] = [
        ("ojs_rate_limit_active", "Active jobs that count for the limit.", |limit| limit.active),
        ("ojs_rate_limit_waiting", "Jobs that wait for the limit.", |limit| limit.waiting),
    ];
    for (name, help, count) in gauges {
        let mut family = page.gauge(name, help);
        for (key, of) in &figures.limits {
            family.count(&[("key", key)], count(of));
        }
    }
    let help = "Times that jobs began to wait for the limit.";
    let mut family = page.counter("ojs_rate_limit_exceeded_total", help);
    for (key, of) in &figures.limits {
        for (strategy, count) in Strategy::ALL.into_iter().zip(of.exceeded) {
            if count > 0 {
                family.count(&[("key", key), ("strategy", strategy.as_str())], count);
            }
        }
    }
    let help = "Seconds that jobs waited for the limit.";
    let mut family = page.histogram("ojs_rate_limit_wait_duration", help);
    for (key, of) in &figures.limits {
        if let Some(waits) = &of.waits {
            family.times(&[("key", key)], waits, &WAITS);
        }
    }
}

fn backpressure(page: &mut Page, figures: &Figures) {
    let counters: [(&str, &str, CountOfQueue); 2] = [
        (
            "ojs_backpressure_rejected_total",
            "Enqueues refused because the queue was full.",
            |queue| queue.rejected,
        ),
        ("ojs_backpressure_dropped_total", "Jobs dropped to make room for newer ones.", |queue| {
            queue.dropped
        }),
    ];
    for (name, help, count) in counters {
        let mut family = page.counter(name, help);
        for (queue, of) in &figures.queues {
            family.count(&[("queue", queue)], count(of));
        }
    }
    let help = "How full the queue is, from 0 to 1; absent where there is no bound.";
    let mut family = page.gauge("ojs_backpressure_pressure", help);
    for (queue, of) in &figures.queues {
        if let Some(pressure) = of.pressure {
            family.add(&[("queue", queue)], pressure.min(1.0));
        }
    }
}
