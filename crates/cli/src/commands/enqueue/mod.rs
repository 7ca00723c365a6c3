//! `rota enqueue`: enqueues one job from the command line, or many from a file.

mod file;

use std::path::PathBuf;

use clap::Args;
use rota_model::json::{Object, members};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::job_options::{JobOptions, duration_ms, longer_than_0};
use crate::Failure;
use crate::output::{print_json, print_line, printable, remark};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota enqueue email.send --args '[\"you@example.com\"]'
  rota enqueue report.build --queue reports --priority high --in 10m
  rota enqueue report.build --at 2027-01-01T06:00:00+01:00 --max-attempts 5
  rota enqueue stripe.charge --limit-key stripe --limit-rate 100/1m --limit-concurrency 5
  rota enqueue email.send --tenant acme        on behalf of a customer
  rota enqueue --file jobs.jsonl               one JSON object on each line, sent in batches
  generate-jobs | rota enqueue --file -
  rota jobs show $(rota enqueue email.send)    prints the id, and nothing else

A line of a file is a job as POST /ojs/v1/jobs takes it: {\"type\": \"email.send\", \"args\": [\"a\"]}";

/// Enqueue a job, or all jobs in a file
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    override_usage = "rota enqueue TYPE [OPTIONS]\n       rota enqueue --file FILE [OPTIONS]"
)]
pub(crate) struct Enqueue {
    /// The job's type, such as email.send
    #[arg(value_name = "TYPE", required_unless_present = "file")]
    kind: Option<String>,

    /// A file of JSON lines instead of a single job; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "kind", "args", "queue", "priority", "max_attempts", "retry", "timeout",
        "visibility_timeout", "meta", "tag", "at", "delay", "expires_at", "expires_in", "id",
        "pending", "limit_key", "limit_concurrency", "limit_rate", "limit_throttle", "on_limit",
        "limit_scope",
    ])]
    file: Option<PathBuf>,

    #[command(flatten)]
    options: JobOptions,

    /// When it becomes available, such as 2027-01-01T06:00:00Z
    #[arg(long, value_name = "TIME")]
    at: Option<String>,

    /// The same, relative to now, such as 10m or 2d
    #[arg(long = "in", value_name = "DURATION", value_parser = duration_ms, conflicts_with = "at")]
    delay: Option<u64>,

    /// The latest start; a job still waiting then is discarded
    #[arg(long, value_name = "TIME")]
    expires_at: Option<String>,

    /// The same, relative to now
    #[arg(long, value_name = "DURATION", value_parser = longer_than_0, conflicts_with = "expires_at")]
    expires_in: Option<u64>,

    /// Your own id, a UUIDv7; a second job with the same id is rejected
    #[arg(long, value_name = "UUID")]
    id: Option<String>,

    /// Hold the job until it is activated
    #[arg(long)]
    pending: bool,

    #[command(flatten)]
    remote: Remote,
}

impl Enqueue {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.remote.client()?;
        if let Some(path) = &self.file {
            return file::enqueue(&client, path, self.remote.json).await;
        }
        let mut job = self.options.job(self.kind.as_deref().unwrap_or_default());
        if let Some(time) = self.at.or(self.delay.map(from_now)) {
            job = job.scheduled_at(time);
        }
        if let Some(time) = self.expires_at.or(self.expires_in.map(from_now)) {
            job = job.expires_at(time);
        }
        if let Some(id) = self.id {
            job = job.id(id);
        }
        if self.pending {
            job = job.pending();
        }
        let enqueued = client.enqueue_with_warnings(&job).await?;
        let (job, exceeded) = (&enqueued.what, &enqueued.quota_exceeded);
        match self.remote.json {
            true if exceeded.is_empty() => print_json(job),
            true => print_line(&with_member(job.json(), "quota_exceeded", &json!(exceeded))),
            false => {
                warn_of_quotas(exceeded);
                print_line(&job.id)
            }
        }
    }
}

/// A soft quota accepts jobs, so warn about it.
fn warn_of_quotas(exceeded: &[String]) {
    if !exceeded.is_empty() {
        let limits = printable(&exceeded.join(", "));
        remark(&format!("warning: the tenant is over its quota: {limits}"));
    }
}

/// The server's object with one more member. Unchanged if it is not an object.
fn with_member(object: &str, name: &str, value: &Value) -> String {
    let value = to_raw_value(value).expect("JSON can be written to memory");
    let Ok(mut members) = members(object, "the job") else { return object.to_owned() };
    members.push((name.into(), &value));
    serde_json::to_string(&Object(members)).expect("JSON can be written to memory")
}

/// The server resolves relative times, because its clock decides.
fn from_now(ms: u64) -> String {
    format!("+PT{}.{:03}S", ms / 1_000, ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_added_at_the_end() {
        let told = with_member(r#"{"id":"j","meta":{"a":{}}}"#, "quota_exceeded", &json!(["x"]));
        assert_eq!(told, r#"{"id":"j","meta":{"a":{}},"quota_exceeded":["x"]}"#);
    }
}
