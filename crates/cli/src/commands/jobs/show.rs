//! `rota jobs show`: shows one job in detail.

use rota_client::{Job, JobError};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::commands::rate::short;
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
    table.field_if("limit", job.rate_limit.as_deref().map(limit));
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

/// `stripe: concurrency 5, rate 100/1m; on limit wait`. Jobs may carry several spellings.
fn limit(raw: &RawValue) -> String {
    let Ok(Value::Object(limit)) = serde_json::from_str(raw.get()) else {
        return raw.get().to_owned();
    };
    let period = limit.get("period");
    let numbers = ["concurrency", "rate", "throttle", "max_per_second"].iter().filter_map(|name| {
        let value = limit.get(*name).filter(|value| !value.is_null())?;
        Some(match (*name, value) {
            ("max_per_second", value) => format!("rate {value}/1s"),
            ("concurrency", value) => format!("concurrency {value}"),
            (name, Value::Object(rate)) => {
                format!("{name} {}", per(rate.get("limit"), rate.get("period")))
            }
            (name, value) => format!("{name} {}", per(Some(value), period)),
        })
    });
    let numbers: Vec<String> = numbers.collect();
    let text = |name: &str| limit.get(name).and_then(Value::as_str);
    let mut out = text("key").map_or_else(|| "of its queue".to_owned(), str::to_owned);
    if !numbers.is_empty() {
        out.push_str(&format!(": {}", numbers.join(", ")));
    }
    out.extend(text("on_limit").map(|action| format!("; on limit {action}")));
    if text("scope") == Some("tenant") {
        out.push_str("; counted per tenant");
    }
    out
}

/// `100/1m`.
fn per(count: Option<&Value>, period: Option<&Value>) -> String {
    let count = count.map(ToString::to_string).unwrap_or_default();
    match period.and_then(Value::as_str) {
        Some(period) => format!("{count}/{}", short(period)),
        None => count,
    }
}

fn describe_error(error: &JobError) -> String {
    let attempt = error.attempt.map(|n| format!("attempt {n}")).unwrap_or_default();
    let at = error.at().map(moment).unwrap_or_default();
    let kind = error.kind.as_deref().or(error.code.as_deref()).unwrap_or("error");
    let message: String =
        error.message.lines().map(|line| format!("\n    {}", printable(line))).collect();
    format!("  {attempt}  {at}  {}{message}\n", printable(kind))
}
