//! `rota tenants stats`: shows a tenant's statistics.

use rota_client::TenantStats;

use super::limits;
use super::show::{noisy, throttled};
use crate::output::{Table, decimal, grouped, percent};

pub(super) fn describe(id: &str, stats: &TenantStats) -> String {
    let (jobs, fairness, flow) = (&stats.jobs, &stats.fairness, &stats.throughput);
    let mut table = Table::of_fields();
    table.field("tenant", stats.tenant_id.as_deref().unwrap_or(id));
    let counts = [
        ("available", jobs.available),
        ("active", jobs.active),
        ("scheduled", jobs.scheduled),
        ("retryable", jobs.retryable),
        ("pending", jobs.pending),
        ("completed, 24h", jobs.completed_24h),
        ("failed, 24h", jobs.failed_24h),
    ];
    for (name, count) in counts {
        table.field(name, count.to_string());
    }
    table.field_if("jobs in all", stats.total_jobs.map(|count| count.to_string()));
    table.field_if("bytes", stats.bytes.map(grouped));
    table.field_if("stored bytes", stats.stored_bytes.map(grouped));
    table.field_if("enqueued a minute", flow.enqueued_per_minute.map(decimal));
    table.field_if("processed a minute", flow.processed_per_minute.map(decimal));
    table.field_if("weight", fairness.weight.map(decimal));
    table.field_if("entitled share", fairness.effective_share.map(percent));
    table.field_if("actual share", fairness.actual_share.map(percent));
    table.field_if("throttled", stats.throttle.as_ref().map(throttled));
    table.field_if("noisy", stats.noisy.as_ref().map(noisy));
    let parts = [table.take(), limits::table(&stats.limits), queues(stats)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn queues(stats: &TenantStats) -> String {
    let header = ["QUEUE", "STATUS", "AVAILABLE", "ACTIVE", "SCHEDULED", "RETRYABLE", "PENDING"];
    let mut table = Table::new(&header).numbers_in(2..header.len()).hide_first([6, 5, 4, 1]);
    for queue in &stats.queues {
        let counts =
            [queue.available, queue.active, queue.scheduled, queue.retryable, queue.pending];
        let status = if queue.paused { "paused" } else { "active" };
        let names = [queue.name.clone(), status.to_owned()];
        table.row(names.into_iter().chain(counts.map(|count| count.to_string())).collect());
    }
    table.finish()
}
