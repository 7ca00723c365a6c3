//! The list of metrics.

use std::sync::Arc;

use rota_engine::{LabelIx, LabelView, LimitKind, Meter};
use rota_model::{Ending, State};

use super::gather::{Figures, OfLimit};
use super::labels::{Key, OTHER};
use super::text::{Page, Tags};
use crate::http::admin::pools::utilization;
use crate::request_limits::RequestCount;

/// The page, which is about so large.
pub(super) fn render(figures: &Figures, size: usize) -> String {
    let mut page = Page::with_capacity(size + size / 16);
    let all: Vec<Series> = figures.meters.iter().map(|meter| Series::new(meter, figures)).collect();
    jobs(&mut page, &all);
    queues(&mut page, &all);
    workers(&mut page, figures, &all);
    tenants(&mut page, figures, &all);
    scheduling(&mut page, figures, &all);
    limits(&mut page, figures);
    backpressure(&mut page, figures, &all);
    dead_letter(&mut page, figures, &all);
    requests(&mut page, figures);
    lookups(&mut page, figures);
    view_lag(&mut page, figures);
    clock(&mut page, figures);
    archive(&mut page, figures);
    page.into_text()
}

/// What is counted for one tenant in one queue, and how that is written.
struct Series<'a> {
    meter: &'a Meter,
    tags: Tags,
    /// The queue has a bound.
    bounded: bool,
}

impl<'a> Series<'a> {
    fn new(meter: &'a Meter, figures: &Figures) -> Self {
        let label = figures.labels.get(meter.label.0 as usize);
        let tenant = label.and_then(|label| label.tenant.as_deref()).unwrap_or(OTHER);
        let tags = Tags::of(&[("tenant_id", tenant), ("queue", label_of(&meter.queue))]);
        let bounded = figures.queues.get(&meter.queue).is_some_and(|queue| queue.bounded);
        Self { meter, tags, bounded }
    }
}

fn label_of(queue: &Option<Arc<str>>) -> &str {
    queue.as_deref().unwrap_or(OTHER)
}

type Count = fn(&Meter) -> u64;

fn count(page: &mut Page, all: &[Series], metrics: &[(&'static str, &str, Count)]) {
    for (name, help, count) in metrics {
        let mut family = match name.ends_with("_total") {
            true => page.counter(name, help),
            false => page.gauge(name, help),
        };
        all.iter().for_each(|series| family.count(&series.tags, count(series.meter)));
    }
}

fn jobs(page: &mut Page, all: &[Series]) {
    let metrics: [(&str, &str, Count); 6] = [
        ("ojs_job_enqueued_total", "Jobs enqueued.", |meter| meter.enqueued),
        ("ojs_job_completed_total", "Jobs completed.", |meter| meter.ended.get(Ending::Completed)),
        (
            "ojs_job_failed_total",
            "Jobs discarded: they failed for good, or a limit dropped them.",
            |meter| meter.ended.get(Ending::Discarded) + meter.ended.get(Ending::DeadLetter),
        ),
        ("ojs_job_retried_total", "Executions that failed and are repeated.", |meter| {
            meter.retried
        }),
        ("ojs_job_cancelled_total", "Jobs cancelled.", |meter| meter.ended.get(Ending::Cancelled)),
        ("ojs_job_expired_total", "Jobs that were not started in time.", |meter| {
            meter.ended.get(Ending::Expired)
        }),
    ];
    count(page, all, &metrics);
    let help = "Seconds from the start of an execution to its completion.";
    let mut family = page.histogram("ojs_job_duration", help);
    for series in all {
        if let Some(times) = &series.meter.ran {
            family.times(&series.tags.and("state", "completed"), times);
        }
    }
    let help = "Seconds from the acceptance of a job to its first start.";
    waits(page, all, "ojs_job_queue_time", help);
}

fn waits(page: &mut Page, all: &[Series], name: &'static str, help: &str) {
    let mut family = page.histogram(name, help);
    for series in all {
        if let Some(times) = &series.meter.waited {
            family.times(&series.tags, times);
        }
    }
}

fn queues(page: &mut Page, all: &[Series]) {
    let mut family = page.gauge("ojs_queue_depth", "Jobs that have not ended, by state.");
    for series in all {
        for state in State::ALL.into_iter().filter(|state| !state.is_terminal()) {
            family.count(&series.tags.and("state", state.as_str()), series.meter.of(state));
        }
    }
    let help = "Bytes of the jobs that wait.";
    count(page, all, &[("ojs_queue_size_bytes", help, |meter| meter.bytes())]);
}

fn workers(page: &mut Page, figures: &Figures, all: &[Series]) {
    let (none, running) = (Tags::default(), figures.workers.running);
    page.gauge("ojs_workers_active", "Workers that take jobs.").count(&none, running as u64);
    let mut family = page.gauge("ojs_workers_known", "Workers, by what they are doing.");
    for (state, workers) in figures.workers.by_state().into_iter().filter(|(_, count)| *count > 0) {
        family.count(&Tags::of(&[("state", state)]), workers as u64);
    }
    let help = "Jobs that are being executed.";
    count(page, all, &[("ojs_workers_busy", help, |meter| meter.of(State::Active))]);
    let waiting = figures.waiting_fetches as u64;
    page.gauge("ojs_workers_waiting", "Fetches that wait for a job.").count(&none, waiting);
}

fn tenants(page: &mut Page, figures: &Figures, all: &[Series]) {
    let known = figures.tenants as u64;
    page.gauge("ojs_tenants", "Tenants that are known.").count(&Tags::default(), known);
    let metrics: [(&str, &str, Count); 5] = [
        ("ojs_tenant_jobs_enqueued_total", "Jobs enqueued.", |meter| meter.enqueued),
        ("ojs_tenant_jobs_processed_total", "Executions that ended, well or badly.", |meter| {
            meter.ended.get(Ending::Completed) + meter.failed
        }),
        ("ojs_tenant_jobs_failed_total", "Executions that failed.", |meter| meter.failed),
        ("ojs_tenant_jobs_active", "Jobs that are being executed.", |meter| {
            meter.of(State::Active)
        }),
        ("ojs_tenant_queue_depth", "Jobs that wait, in whatever way.", Meter::depth),
    ];
    count(page, all, &metrics);
    let help = "Part of all dispatches of the last minute, from 0 to 1.";
    let mut family = page.gauge("ojs_tenant_fairness_share", help);
    let others = figures.meters.iter().any(|meter| meter.label == LabelIx::OTHER);
    for label in figures.labels.iter().filter(|label| others || label.tenant.is_some()) {
        let tenant = label.tenant.as_deref().unwrap_or(OTHER);
        family.add(&Tags::of(&[("tenant_id", tenant)]), label.share);
    }
    stored_bytes(page, figures);
}

fn stored_bytes(page: &mut Page, figures: &Figures) {
    let help = "Bytes of stored bodies, results and errors of jobs, and of schedules.";
    let mut family = page.gauge("ojs_tenant_stored_bytes", help);
    let own = |label: &&LabelView| label.tenant.is_some();
    let labelled: u64 = figures.labels.iter().filter(own).map(|label| label.stored).sum();
    for label in &figures.labels {
        let (tenant, bytes) = match &label.tenant {
            Some(tenant) => (&**tenant, label.stored),
            // Jobs may have been stored or removed between two slices of labels.
            None => (OTHER, label.stored.saturating_sub(labelled)),
        };
        if label.tenant.is_some() || bytes > 0 {
            family.count(&Tags::of(&[("tenant_id", tenant)]), bytes);
        }
    }
}

fn scheduling(page: &mut Page, figures: &Figures, all: &[Series]) {
    let help = "Jobs handed out; without a pool where the worker is in none of the operator's.";
    let mut family = page.counter("ojs_scheduling_dispatch_total", help);
    for series in all {
        family.count(&series.tags.and("pool", ""), series.meter.dispatched);
        for (pool, count) in &series.meter.in_pools {
            family.count(&series.tags.and("pool", pool), *count);
        }
    }
    let help = "Part of all dispatches of the last minute, from 0 to 1.";
    let mut family = page.gauge("ojs_scheduling_dispatch_ratio", help);
    for (queue, of) in &figures.queues {
        family.add(&Tags::of(&[("queue", label_of(queue))]), of.ratio.min(1.0));
    }
    let help = "Seconds that jobs waited until they were first handed out.";
    waits(page, all, "ojs_scheduling_queue_wait_duration", help);
    let help = "Active jobs as a part of those that the pool may have at once.";
    let mut family = page.gauge("ojs_scheduling_pool_utilization", help);
    for pool in &figures.pools {
        if let Some(part) = utilization(pool) {
            family.add(&Tags::of(&[("pool", &pool.name)]), part);
        }
    }
    let help = "Times that a queue with waiting jobs went without for too long.";
    let mut family = page.counter("ojs_scheduling_starvation_events_total", help);
    for (queue, of) in &figures.queues {
        family.count(&Tags::of(&[("queue", label_of(queue))]), of.starved);
    }
}

fn limits(page: &mut Page, figures: &Figures) {
    let tagged = |((key, tenant), of): (&Key, _)| {
        let tags = Tags::of(&[("key", key)]);
        match tenant {
            Some(id) => (tags.and("tenant_id", id), of),
            None => (tags, of),
        }
    };
    let all: Vec<(Tags, &OfLimit)> = figures.limits.iter().map(tagged).collect();
    type Figure = fn(&OfLimit) -> u64;
    let gauges: [(&str, &str, Figure); 2] = [
        ("ojs_rate_limit_active", "Active jobs that count for the limit.", |limit| limit.active),
        ("ojs_rate_limit_waiting", "Jobs that wait for the limit.", |limit| limit.waiting),
    ];
    for (name, help, count) in gauges {
        let mut family = page.gauge(name, help);
        all.iter().for_each(|(tags, of)| family.count(tags, count(of)));
    }
    let help = "Times that jobs began to wait for the limit.";
    let mut family = page.counter("ojs_rate_limit_exceeded_total", help);
    for (tags, of) in &all {
        for (strategy, count) in LimitKind::ALL.into_iter().zip(of.exceeded) {
            if count > 0 {
                family.count(&tags.and("strategy", strategy.as_str()), count);
            }
        }
    }
    let help = "Seconds that jobs waited for the limit.";
    let mut family = page.histogram("ojs_rate_limit_wait_duration", help);
    for (tags, of) in &all {
        if let Some(waits) = &of.waits {
            family.times(tags, waits);
        }
    }
}

fn requests(page: &mut Page, figures: &Figures) {
    type Counter = (&'static str, &'static str, fn(RequestCount) -> u64);
    let counters: [Counter; 2] = [
        (
            "rota_limited_requests_allowed_total",
            "Requests to which a limit applied, and which were within it.",
            |count| count.allowed,
        ),
        (
            "rota_limited_requests_refused_total",
            "Requests refused because a limit on requests was reached.",
            |count| count.refused,
        ),
    ];
    for (name, help, count) in counters {
        let mut family = page.counter(name, help);
        for (tenant, counted) in figures.requests.iter() {
            let tenant = tenant.map_or(OTHER, |tenant| &**tenant);
            family.count(&Tags::of(&[("tenant_id", tenant)]), count(counted));
        }
    }
}

fn backpressure(page: &mut Page, figures: &Figures, all: &[Series]) {
    let counters: [(&str, &str, Count); 2] = [
        (
            "ojs_backpressure_rejected_total",
            "Enqueues refused because the queue was full.",
            |meter| meter.rejected,
        ),
        ("ojs_backpressure_dropped_total", "Jobs dropped to make room for newer ones.", |meter| {
            meter.dropped
        }),
    ];
    for (name, help, count) in counters {
        let mut family = page.counter(name, help);
        for series in all {
            // Elsewhere it cannot happen; where it has happened, it is still true.
            if series.bounded || count(series.meter) > 0 {
                family.count(&series.tags, count(series.meter));
            }
        }
    }
    let help = "How full the queue is, from 0 to 1; absent where there is no bound.";
    let mut family = page.gauge("ojs_backpressure_pressure", help);
    for (queue, of) in &figures.queues {
        if let Some(pressure) = of.pressure {
            family.add(&Tags::of(&[("queue", label_of(queue))]), pressure.min(1.0));
        }
    }
}

fn dead_letter(page: &mut Page, figures: &Figures, all: &[Series]) {
    // The specification's name of this gauge ends like that of a counter.
    let mut family = page.gauge("ojs_dead_letter_total", "Jobs in the dead letter.");
    all.iter().for_each(|series| family.count(&series.tags, series.meter.dead));
    let help = "Jobs that entered the dead letter.";
    let mut family = page.counter("ojs_dead_letter_added_total", help);
    for (queue, kind, count) in &figures.buried {
        let kind = kind.as_deref().unwrap_or(OTHER);
        family.count(&Tags::of(&[("queue", label_of(queue)), ("type", kind)]), *count);
    }
    let metrics: [(&str, &str, Count); 2] = [
        (
            "ojs_dead_letter_retried_total",
            "Jobs of the dead letter that were retried on request.",
            |meter| meter.dead_retried,
        ),
        (
            "ojs_dead_letter_pruned_total",
            "Jobs that retention removed from the dead letter.",
            |meter| meter.pruned,
        ),
    ];
    count(page, all, &metrics);
}

fn view_lag(page: &mut Page, figures: &Figures) {
    let none = Tags::default();
    let help = "Committed batches that the database has not applied yet.";
    page.gauge("rota_view_lag_batches", help).count(&none, figures.view_lag.batches);
    let help = "Bytes of committed batches that the database has not applied yet.";
    page.gauge("rota_view_lag_bytes", help).count(&none, figures.view_lag.bytes);
    let help = "Reads that failed because a page of the database does not match its checksum.";
    page.counter("rota_damaged_reads_total", help).count(&none, figures.damaged_reads);
}

fn clock(page: &mut Page, figures: &Figures) {
    let help = "How far the server's time is ahead of the wall clock, after that was set back.";
    let ahead = figures.clock_ahead_ms as f64 / 1_000.0;
    page.gauge("rota_clock_ahead_seconds", help).add(&Tags::default(), ahead);
}

fn archive(page: &mut Page, figures: &Figures) {
    let Some(archive) = &figures.archive else { return };
    let none = Tags::default();
    let help = "Committed records of the log that are not in the archive yet.";
    page.gauge("rota_archive_lag_records", help).count(&none, archive.behind());
    let help = "Whether the last attempt to archive the log failed (0 or 1).";
    page.gauge("rota_archive_failing", help).count(&none, u64::from(archive.failure.is_some()));
    let help = "Attempts to archive the log that failed.";
    page.counter("rota_archive_failures_total", help).count(&none, archive.failures);
}

fn lookups(page: &mut Page, figures: &Figures) {
    let none = Tags::default();
    let help = "Requests to the engine on behalf of callers, and looks at its state.";
    page.counter("rota_engine_lookups_total", help).count(&none, figures.lookups.engine);
    let help = "Reads from the store on behalf of callers, and ids that were read from it.";
    page.counter("rota_store_lookups_total", help).count(&none, figures.lookups.store);
    let (failed, refused) = figures.handshakes;
    let help = "TLS handshakes that failed.";
    page.counter("rota_tls_handshakes_failed_total", help).count(&none, failed);
    let help =
        "Connections closed before a handshake, because others of their address had just failed.";
    page.counter("rota_tls_handshakes_refused_total", help).count(&none, refused);
}
