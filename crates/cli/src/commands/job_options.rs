//! Job options shared by `enqueue` and `cron add`.

use clap::Args;
use jiff::{Span, SpanRelativeTo, Unit};
use rota_client::NewJob;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::job_limit::JobLimit;
use super::number::{at_least, between};

#[derive(Debug, Args)]
pub(crate) struct JobOptions {
    // Not a doc comment, because rustdoc would treat the brackets as a link.
    #[arg(
        long,
        value_name = "JSON",
        value_parser = json_array,
        default_value = "[]",
        help = r#"The job's arguments: a JSON array, such as '["you@example.com", 3]'"#
    )]
    args: JsonArray,

    /// The queue; default `default`
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,

    /// Priority from -100 to 100, higher goes first; or high, normal, low
    #[arg(long, value_name = "N", value_parser = priority)]
    priority: Option<i64>,

    /// Total executions, including the first
    #[arg(long, value_name = "N", value_parser = at_least(1_u32))]
    max_attempts: Option<u32>,

    /// The retry policy: a JSON object, such as '{"backoff_strategy": "linear"}'
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    retry: Option<JsonObject>,

    /// How long an attempt may take, such as 90s or 2h
    #[arg(long, value_name = "DURATION", value_parser = longer_than_0)]
    timeout: Option<u64>,

    /// How long its worker may stay silent before another gets the job
    #[arg(long, value_name = "DURATION", value_parser = longer_than_0)]
    visibility_timeout: Option<u64>,

    #[command(flatten)]
    limit: JobLimit,

    /// Metadata to store with the job; repeatable
    #[arg(long, value_name = "KEY=TEXT", value_parser = pair)]
    meta: Vec<(String, String)>,

    /// A tag; repeatable
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct JsonArray(Vec<Box<RawValue>>);

#[derive(Debug, Clone)]
pub(crate) struct JsonObject(Map<String, Value>);

impl JobOptions {
    pub fn job(self, kind: &str) -> NewJob {
        let mut job = NewJob::new(kind).args(self.args.0);
        if let Some(queue) = self.queue {
            job = job.queue(queue);
        }
        if let Some(priority) = self.priority {
            job = job.priority(priority);
        }
        for (key, value) in self.retry.map(|retry| retry.0).unwrap_or_default() {
            job = job.retry(key, value);
        }
        if let Some(attempts) = self.max_attempts {
            job = job.max_attempts(attempts);
        }
        if let Some(ms) = self.timeout {
            job = job.timeout_ms(ms);
        }
        if let Some(ms) = self.visibility_timeout {
            job = job.visibility_timeout_ms(ms);
        }
        if let Some(limit) = self.limit.given() {
            job = job.rate_limit(limit);
        }
        job = self.meta.into_iter().fold(job, |job, (key, value)| job.meta(key, value));
        self.tag.into_iter().fold(job, NewJob::tag)
    }
}

/// Milliseconds of `90s`, `1h30m`, `2d` or `PT10M`.
pub(crate) fn duration_ms(text: &str) -> Result<u64, String> {
    let expected = || "a duration such as 30s, 10m, 1h30m or 2d is expected".to_owned();
    let span: Span = text.parse().map_err(|_| expected())?;
    let relative = SpanRelativeTo::days_are_24_hours();
    let ms = span.total((Unit::Millisecond, relative)).map_err(|_| expected())?;
    if ms < 0.0 {
        return Err("it must not be negative".to_owned());
    }
    Ok(ms as u64)
}

/// The same for what makes no sense without any time.
pub(crate) fn longer_than_0(text: &str) -> Result<u64, String> {
    match duration_ms(text)? {
        0 => Err("it must be longer than 0".to_owned()),
        ms => Ok(ms),
    }
}

fn json_array(text: &str) -> Result<JsonArray, String> {
    let value: Box<RawValue> = serde_json::from_str(text).map_err(not_json)?;
    serde_json::from_str(value.get()).map(JsonArray).map_err(|_| {
        format!("it must be a JSON array; for a single argument write '[{}]'", value.get())
    })
}

fn json_object(text: &str) -> Result<JsonObject, String> {
    let value: Value = serde_json::from_str(text).map_err(not_json)?;
    match value {
        Value::Object(members) => Ok(JsonObject(members)),
        _ => Err("it must be a JSON object".to_owned()),
    }
}

fn not_json(cause: serde_json::Error) -> String {
    format!("it is not JSON: {cause}; quote it for the shell, such as '[\"text\", 3]'")
}

pub(crate) fn priority(text: &str) -> Result<i64, String> {
    match text {
        "high" => Ok(10),
        "normal" => Ok(0),
        "low" => Ok(-10),
        _ => between(-100, 100)(text).map_err(|_| {
            "a whole number from -100 to 100 is expected, or high, normal or low".to_owned()
        }),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("KEY=TEXT is expected".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration_ms("90s"), Ok(90_000));
        assert_eq!(duration_ms("1h30m"), Ok(5_400_000));
        assert_eq!(duration_ms("2d"), Ok(172_800_000));
        assert_eq!(duration_ms("250ms"), Ok(250));
        assert_eq!(duration_ms("PT10M"), Ok(600_000));
        for bad in ["10", "", "soon", "-5s", "1mo"] {
            assert!(duration_ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_in_arguments_are_passed_on_as_they_are() {
        let array = json_array("[12345678901234567890123, 1.10]").unwrap();
        let shown: Vec<&str> = array.0.iter().map(|raw| raw.get()).collect();
        assert_eq!(shown, ["12345678901234567890123", "1.10"]);
    }

    #[test]
    fn what_is_not_an_array_is_explained() {
        assert!(json_array("\"a\"").unwrap_err().contains("write '[\"a\"]'"));
        assert!(json_array("you@example.com").unwrap_err().contains("not JSON"));
    }
}
