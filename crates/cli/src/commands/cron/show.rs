//! `rota cron show`: shows one schedule.

use rota_client::Cron;

use crate::output::{Table, moment};

pub(super) fn describe(cron: &Cron) -> String {
    let (kind, queue) = job(cron);
    let mut table = Table::of_fields();
    table.field("name", &cron.name);
    // Any JSON value; usually a string.
    let description = cron
        .description
        .as_ref()
        .map(|raw| serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned()));
    table.field_if("description", description);
    table.field("expression", &cron.expression);
    table.field_if("timezone", cron.timezone.as_ref());
    table.field_if("overlap", cron.overlap_policy.as_ref());
    table.field("enabled", if cron.enabled { "yes" } else { "no" });
    table.field("type", kind);
    table.field("queue", queue);
    let args = cron.job_template.as_ref().and_then(|job| job.args.as_ref());
    table.field_if("args", args.map(|args| args.get()));
    table.field("runs", cron.run_count.to_string());
    table.field_if("last run", cron.last_run_at.as_deref().map(moment));
    table.field_if("next run", cron.next_run_at.as_deref().map(moment));
    table.field_if("created", cron.created_at.as_deref().map(moment));
    table.take()
}

/// Type and queue of the schedule's jobs.
pub(super) fn job(cron: &Cron) -> (String, String) {
    let template = cron.job_template.as_ref();
    let kind = template.map(|job| job.kind.clone()).unwrap_or_default();
    let queue = template.and_then(|job| job.queue.clone());
    (kind, queue.unwrap_or_else(|| "default".to_owned()))
}
