//! `rota dead-letter`: jobs that failed permanently.

mod list;
mod purge;
mod retry;
mod stats;

use clap::{Args, Subcommand};

use self::list::ListArgs;
use self::purge::Purge;
use self::retry::Retry;
use super::confirm::Confirm;
use super::jobs::describe;
use crate::Failure;
use crate::commands::named;
use crate::output::{each, plural, print, print_json};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota dead-letter                             the newest 20
  rota dead-letter --queue email --type 'email.*' --since 1d
  rota dead-letter show 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7
  rota dead-letter retry --error smtp_timeout --yes";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota dead-letter show 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7";

const STATS_EXAMPLES: &str = "\
Examples:
  rota dead-letter stats                       how many, by queue and error";

const DELETE_EXAMPLES: &str = "\
Examples:
  rota dead-letter delete 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7
  rota dead-letter delete --yes $(rota dead-letter list --json | jq -r '.jobs[].id')";

/// List, retry and delete jobs that failed permanently
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

#[derive(Debug, Subcommand)]
enum Action {
    /// List jobs, newest first
    #[command(after_help = list::EXAMPLES)]
    List(ListArgs),

    /// Show a job in detail
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[arg(value_name = "ID", value_parser = named)]
        id: String,
    },

    /// Count jobs by queue and by error
    #[command(after_help = STATS_EXAMPLES)]
    Stats,

    /// Retry jobs from the start, by id or by error, queue, type and time
    Retry(Retry),

    /// Delete jobs
    #[command(after_help = DELETE_EXAMPLES)]
    Delete {
        #[arg(value_name = "ID", value_parser = named, required = true)]
        ids: Vec<String>,

        #[command(flatten)]
        confirm: Confirm,
    },

    /// Delete all jobs, or those of a queue, or old ones
    Purge(Purge),
}

impl DeadLetter {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        let Some(action) = self.action else { return self.list.print(&client, json).await };
        if self.list != ListArgs::default() {
            return Err(Failure::misplaced_filters("rota dead-letter list --queue email"));
        }
        match action {
            Action::List(list) => list.print(&client, json).await,
            Action::Show { id } => {
                let job = client.dead_letter(&id).await?;
                if json { print_json(&job) } else { print(&describe(&job)) }
            }
            Action::Stats => stats::print(&client, json).await,
            Action::Retry(retry) => retry.run(&client, json).await,
            Action::Delete { ids, confirm } => {
                // A single id is typed deliberately; several may come from a script.
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
