//! `rota jobs show`: shows one job in detail.

use rota_client::{Job, JobError};
use serde_json::value::RawValue;

use crate::output::{Table, milliseconds, moment, printable};

pub(crate) fn describe(job: &Job) -> String {
    let mut table = Table::of_fields();
    table.field("id", &job.id);
    table.field("type", &job.kind);
    table.field("queue", &job.queue);
    table.field("state", &job.state);
    table.field("priority", job.priority.to_string());
    let most = job.max_attempts.map(|most| format!(" of {most}")).unwrap_or_default();
    table.field("attempt", format!("{}{most}", job.attempt));
    table.field_if("worker", job.worker_id.as_ref());
    for (name, time) in times(job) {
        table.field_if(name, time.as_deref().map(moment));
    }
    let period = |ms: Option<u64>| ms.map(|ms| milliseconds(ms as f64));
    table.field_if("timeout", period(job.timeout_ms));
    table.field_if("silence", period(job.visibility_timeout_ms));
    if !job.tags.is_empty() {
        table.field("tags", job.tags.join(", "));
    }
    table.field("args", job.args.get());
    let meta = job.meta.as_deref().map(RawValue::get);
    table.field_if("meta", meta.filter(|text| *text != "{}"));
    table.field_if("result", job.result.as_deref().map(RawValue::get));
    let mut out = table.take();
    if !job.errors.is_empty() {
        out.push_str("\nerrors\n");
        job.errors.iter().for_each(|error| out.push_str(&describe_error(error)));
    }
    out
}

fn times(job: &Job) -> [(&'static str, &Option<String>); 9] {
    // A discarded job has both; one is enough.
    let completed = if job.state == "completed" { &job.completed_at } else { &None };
    let next = if job.next_attempt_at == job.scheduled_at { &None } else { &job.next_attempt_at };
    [
        ("created", &job.created_at),
        ("scheduled", &job.scheduled_at),
        ("expires", &job.expires_at),
        ("started", &job.started_at),
        ("next try", next),
        ("completed", completed),
        ("cancelled", &job.cancelled_at),
        ("discarded", &job.discarded_at),
        ("expired", &job.expired_at),
    ]
}

fn describe_error(error: &JobError) -> String {
    let attempt = error.attempt.map(|n| format!("attempt {n}")).unwrap_or_default();
    let at = error.at().map(moment).unwrap_or_default();
    let kind = error.kind.as_deref().or(error.code.as_deref()).unwrap_or("error");
    let message: String =
        error.message.lines().map(|line| format!("\n    {}", printable(line))).collect();
    format!("  {attempt}  {at}  {}{message}\n", printable(kind))
}
