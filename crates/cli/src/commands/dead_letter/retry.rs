//! `rota dead-letter retry`: retries jobs by id, or all that match filters.

use clap::Args;
use rota_client::{Client, DeadLetterFilter};

use crate::Failure;
use crate::commands::confirm::Confirm;
use crate::commands::jobs::time_or_ago;
use crate::commands::named;
use crate::output::{each, plural, print_json, print_line};

const EXAMPLES: &str = "\
Examples:
  rota dead-letter retry 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7
  rota dead-letter retry --error smtp_timeout --yes          all that failed for this reason
  rota dead-letter retry --queue email --since 2h --yes
  rota dead-letter retry --all                               asks first

A job starts over: attempt 0 and the same id. The error of a job is the type of its last one, as
`rota dead-letter show` prints it.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Retry {
    /// The jobs' ids; or use filters to select all matching jobs
    #[arg(value_name = "ID", value_parser = named,
          conflicts_with_all = ["error", "queue", "kind", "since", "until", "all"])]
    ids: Vec<String>,

    /// Jobs whose last error has this type
    #[arg(long, value_name = "TYPE")]
    error: Option<String>,

    /// Jobs of this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,

    /// Jobs of this type; `email.*` matches a prefix
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,

    /// Jobs that failed since: a time, or how long ago, such as 2h
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    since: Option<String>,

    /// Jobs that failed before: a time, or how long ago
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    until: Option<String>,

    /// All jobs in the dead letter
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    confirm: Confirm,
}

impl Retry {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        if !self.ids.is_empty() {
            let act = async |id: &str| client.retry_dead_letter(id).await;
            return each(&self.ids, "retried", "jobs", json, act).await;
        }
        let conditions = self.conditions();
        if conditions.is_empty() && !self.all {
            return Err(Failure::usage("no jobs are named")
                .hint("Give their ids, filters such as --error TYPE or --queue NAME, or --all."));
        }
        self.confirm.ask(&match conditions.is_empty() {
            true => "retry all jobs in the dead letter".to_owned(),
            false => format!("retry all jobs in the dead letter with {}", conditions.join(", ")),
        })?;
        let filter = DeadLetterFilter {
            queue: self.queue,
            kind: self.kind,
            error_type: self.error,
            since: self.since,
            until: self.until,
        };
        let outcome = client.retry_dead_letters(&filter).await?;
        match json {
            true => print_json(&outcome)?,
            false => print_line(&format!("retried {}", plural(outcome.succeeded, "job", "jobs")))?,
        }
        match outcome.failed {
            0 => Ok(()),
            failed => Err(Failure::error(format!(
                "{} could not be retried",
                plural(failed, "job", "jobs")
            ))
            .hint("`rota dead-letter list` shows what is left; repeat it to retry those.")),
        }
    }

    /// `error=smtp_timeout`, for each filter that is given.
    fn conditions(&self) -> Vec<String> {
        let filters = [
            ("error", &self.error),
            ("queue", &self.queue),
            ("type", &self.kind),
            ("since", &self.since),
            ("until", &self.until),
        ];
        let given = filters.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        given.map(|(name, value)| format!("{name}={value}")).collect()
    }
}
