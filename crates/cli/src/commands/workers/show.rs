//! `rota workers show`: shows one worker.

use rota_client::Worker;

use crate::output::{Table, moment};

pub(super) fn describe(worker: &Worker) -> String {
    let mut table = Table::of_fields();
    table.field("worker", &worker.id);
    table.field("state", &worker.state);
    table.field_if("told to be", worker.directive.as_ref().filter(|told| **told != worker.state));
    table.field_if("host", worker.hostname.as_ref());
    table.field_if("pid", worker.pid.map(|pid| pid.to_string()));
    table.field_if("version", worker.version.as_ref());
    if !worker.queues.is_empty() {
        table.field("queues", worker.queues.join(", "));
    }
    if !worker.labels.is_empty() {
        table.field("labels", worker.labels.join(", "));
    }
    table.field_if("concurrency", worker.concurrency.map(|most| most.to_string()));
    table.field_if("started", worker.started_at.as_deref().map(moment));
    table.field_if("heard of", worker.last_seen_at.as_deref().map(moment));
    table.field("active jobs", worker.active_jobs.to_string());
    let ids = worker.active_job_ids.iter().map(|id| format!("  {id}\n"));
    table.take() + &ids.collect::<String>()
}
