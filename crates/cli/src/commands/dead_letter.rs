//! `rota dead-letter`: jobs that failed for good.

use clap::{Args, Subcommand};
use rota_client::Client;
use serde_json::json;

use super::confirm::Confirm;
use super::jobs::{Extent, FilterArgs, StateArgs, describe, print_jobs, time_or_ago};
use crate::Failure;
use crate::output::{Table, each, plural, print, print_json, print_line};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota dead-letter                             the newest 20
  rota dead-letter --queue email --type 'email.*' --since 1d
  rota dead-letter show 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7
  rota dead-letter retry 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7";

const LIST_EXAMPLES: &str = "\
Examples:
  rota dead-letter list --queue email --all
  rota dead-letter list --all --json | jq -r '.jobs[].id' | xargs rota dead-letter retry";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota dead-letter show 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7";

const STATS_EXAMPLES: &str = "\
Examples:
  rota dead-letter stats                       how many, by queue";

const RETRY_EXAMPLES: &str = "\
Examples:
  rota dead-letter retry 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7

It starts anew: attempt 0, no errors, the same id.";

const DELETE_EXAMPLES: &str = "\
Examples:
  rota dead-letter delete 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7
  rota dead-letter delete --yes $(rota dead-letter list --json | jq -r '.jobs[].id')";

const PURGE_EXAMPLES: &str = "\
Examples:
  rota dead-letter purge --queue email --older-than 30d --yes
  rota dead-letter purge                       says what it would delete, and asks";

/// List, retry and delete jobs that failed for good
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DeadLetter {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    list: ListArgs,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Default, PartialEq, Args)]
struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,

    #[command(flatten)]
    extent: Extent,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List jobs, newest first
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),

    /// Show all about a job
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },

    /// Count them
    #[command(after_help = STATS_EXAMPLES)]
    Stats,

    /// Start jobs anew
    #[command(after_help = RETRY_EXAMPLES)]
    Retry {
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },

    /// Delete jobs
    #[command(after_help = DELETE_EXAMPLES)]
    Delete {
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,

        #[command(flatten)]
        confirm: Confirm,
    },

    /// Delete all, or those of a queue, or old ones
    #[command(after_help = PURGE_EXAMPLES)]
    Purge(Purge),
}

#[derive(Debug, Args)]
struct Purge {
    /// Only jobs of this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,

    /// Only jobs that failed before then: a time, or how long ago, such as 30d
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    older_than: Option<String>,

    #[command(flatten)]
    confirm: Confirm,
}

impl DeadLetter {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        let Some(action) = self.action else { return self.list.print(&client, json).await };
        if self.list != ListArgs::default() {
            return Err(Failure::usage("filters stand behind the subcommand")
                .hint("Such as: rota dead-letter list --queue email"));
        }
        match action {
            Action::List(list) => list.print(&client, json).await,
            Action::Show { id } => {
                let job = client.dead_letter(&id).await?;
                if json { print_json(&job) } else { print(&describe(&job)) }
            }
            Action::Stats => stats(&client, json).await,
            Action::Retry { ids } => {
                let act = async |id: &str| client.retry_dead_letter(id).await;
                each(&ids, "retried", "jobs", json, act).await
            }
            Action::Delete { ids, confirm } => {
                // One id is typed on purpose; many come from somewhere else.
                if ids.len() > 1 {
                    confirm.ask(&format!("delete {}", plural(ids.len() as u64, "job", "jobs")))?;
                }
                let act = async |id: &str| client.delete_dead_letter(id).await;
                each(&ids, "deleted", "jobs", json, act).await
            }
            Action::Purge(purge) => purge.run(&client, json).await,
        }
    }
}

impl ListArgs {
    async fn print(self, client: &Client, as_json: bool) -> Result<(), Failure> {
        let filter = self.filter.filter(&StateArgs::default());
        print_jobs(
            self.extent,
            filter,
            as_json,
            "no jobs in the dead letter match",
            async |filter, limit, at| client.dead_letters(filter, limit, at).await,
        )
        .await
    }
}

async fn stats(client: &Client, as_json: bool) -> Result<(), Failure> {
    let stats = client.dead_letter_stats().await?;
    if as_json {
        return print_json(&stats);
    }
    let mut table = Table::new(&["QUEUE", "JOBS"]).numbers_in([1]);
    for (queue, count) in &stats.by_queue {
        table.row(vec![queue.clone(), count.to_string()]);
    }
    print(&table.take())?;
    print_line(&format!("{} in all", plural(stats.total, "job", "jobs")))
}

impl Purge {
    async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let stats = client.dead_letter_stats().await?;
        let (count, place) = match &self.queue {
            Some(queue) => {
                (stats.by_queue.get(queue).copied().unwrap_or(0), format!(" of queue {queue}"))
            }
            None => (stats.total, String::new()),
        };
        let jobs = plural(count, "job", "jobs");
        self.confirm.ask(&match &self.older_than {
            Some(time) => {
                format!(
                    "delete those of {jobs} in the dead letter{place} that failed before {time}"
                )
            }
            None => format!("delete {jobs} in the dead letter{place}"),
        })?;
        let purged =
            client.purge_dead_letters(self.queue.as_deref(), self.older_than.as_deref()).await?;
        match json {
            true => print_json(&json!({"deleted": purged.purged_count, "failed": purged.failed})),
            false => print_line(&format!("deleted {}", plural(purged.purged_count, "job", "jobs"))),
        }
    }
}
