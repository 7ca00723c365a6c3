//! `rota jobs cancel`, `retry` and `delete`: change jobs by id or by filter.

use clap::{Args, ValueEnum};
use rota_client::{BulkOutcome, CancelMode, Client, Error, Job, JobFilter, WithJson};

use super::filter::{FilterArgs, StateArgs};
use crate::Failure;
use crate::commands::confirm::Confirm;
use crate::commands::named;
use crate::output::{each, each_told, plural, print_json, print_line};

#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// The jobs' ids; or use filters to select all matching jobs
    #[arg(value_name = "ID", value_parser = named, conflicts_with_all = ["queue", "kind", "state", "since", "until"])]
    ids: Vec<String>,

    #[command(flatten)]
    matching: MatchingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// How active jobs are cancelled: at once, or by asking their workers; default: as the server is
    /// configured
    #[arg(long, value_enum, conflicts_with_all = ["queue", "kind", "state", "since", "until"])]
    mode: Option<Mode>,

    #[command(flatten)]
    jobs: ChangeArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    Immediate,
    Cooperative,
}

impl CancelArgs {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let mode = self.mode.map(|mode| match mode {
            Mode::Immediate => CancelMode::Immediate,
            Mode::Cooperative => CancelMode::Cooperative,
        });
        if self.jobs.ids.is_empty() {
            return self.jobs.matching.run(Change::Cancel, client, json).await;
        }
        let act = async |id: &str| client.cancel_as(id, mode).await;
        let told = |job: &Job| match job.state.as_str() {
            "active" => "runs until its worker ends it".to_owned(),
            _ => Change::Cancel.past().to_owned(),
        };
        each_told(&self.jobs.ids, Change::Cancel.past(), "jobs", json, act, told).await
    }
}

/// Changes all matching jobs.
#[derive(Debug, Args)]
pub(crate) struct MatchingArgs {
    #[command(flatten)]
    state: StateArgs,

    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    confirm: Confirm,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Cancel,
    Retry,
    Delete,
}

impl ChangeArgs {
    pub async fn run(
        self,
        change: Change,
        client: &Client,
        json: bool,
        one: impl AsyncFnMut(&str) -> Result<WithJson<Job>, Error>,
    ) -> Result<(), Failure> {
        if self.ids.is_empty() {
            return self.matching.run(change, client, json).await;
        }
        each(&self.ids, change.past(), "jobs", json, one).await
    }
}

impl MatchingArgs {
    pub async fn run(self, change: Change, client: &Client, json: bool) -> Result<(), Failure> {
        let filter = self.filter.filter(&self.state);
        if self.filter == FilterArgs::default() && self.state == StateArgs::default() {
            return Err(Failure::usage("no jobs are named")
                .hint("Give their ids, or filters such as --queue NAME or --state STATE."));
        }
        self.confirm.ask(&format!("{} {}", change.present(), described(&filter)))?;
        let outcome = change.all(client, &filter).await?;
        report(&outcome, change.past(), json)
    }
}

impl Change {
    fn present(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Delete => "delete",
        }
    }

    fn past(self) -> &'static str {
        match self {
            Self::Cancel => "cancelled",
            Self::Retry => "retried",
            Self::Delete => "deleted",
        }
    }

    async fn all(
        self,
        client: &Client,
        filter: &JobFilter,
    ) -> Result<WithJson<BulkOutcome>, Error> {
        match self {
            Self::Cancel => client.cancel_all(filter).await,
            Self::Retry => client.retry_all(filter).await,
            Self::Delete => client.delete_all(filter).await,
        }
    }
}

fn report(outcome: &WithJson<BulkOutcome>, verb: &str, json: bool) -> Result<(), Failure> {
    match json {
        true => print_json(outcome)?,
        false => print_line(&format!("{verb} {}", plural(outcome.succeeded, "job", "jobs")))?,
    }
    match outcome.failed {
        0 => Ok(()),
        failed => {
            Err(Failure::error(format!("{} could not be {verb}", plural(failed, "job", "jobs")))
                .hint("They have changed meanwhile. Repeat it to take those that still match."))
        }
    }
}

/// `all jobs with queue=email, type=a.*`.
fn described(filter: &JobFilter) -> String {
    let parts = [
        ("queue", &filter.queue),
        ("state", &filter.state),
        ("type", &filter.kind),
        ("since", &filter.since),
        ("until", &filter.until),
    ];
    let given: Vec<String> = parts
        .iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name}={value}")))
        .collect();
    format!("all jobs with {}", given.join(", "))
}
