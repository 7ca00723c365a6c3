//! `rota queues stats`: shows a queue's statistics.

use rota_client::QueueStats;

use crate::output::{Table, milliseconds};

pub(super) fn describe(queue: &QueueStats) -> String {
    let (stats, counts) = (&queue.stats, &queue.stats.counts);
    let mut table = Table::of_fields();
    table.field("queue", &queue.name);
    table.field("status", &queue.status);
    let states = [
        ("available", counts.available),
        ("active", counts.active),
        ("scheduled", counts.scheduled),
        ("retryable", counts.retryable),
        ("pending", counts.pending),
        ("completed", counts.completed),
        ("cancelled", counts.cancelled),
        ("discarded", counts.discarded),
    ];
    for (name, count) in states {
        table.field(name, count.to_string());
    }
    let mut hour = Table::of_fields();
    hour.field_if("  enqueued", stats.enqueued_last_hour.map(|count| count.to_string()));
    hour.field_if("  completed", stats.completed_last_hour.map(|count| count.to_string()));
    hour.field_if("  failed attempts", stats.failed_last_hour.map(|count| count.to_string()));
    hour.field_if("  average wait", stats.avg_wait_ms.map(milliseconds));
    hour.field_if("  average run", stats.avg_duration_ms.map(milliseconds));
    format!("{}\nlast hour\n{}", table.take(), hour.take())
}
