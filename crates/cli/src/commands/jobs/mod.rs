//! `rota jobs`: lists, shows and changes jobs.

mod change;
mod filter;
mod list;
mod show;

use clap::{Args, Subcommand};

use self::change::{CancelArgs, Change, ChangeArgs, MatchingArgs};
use self::list::ListArgs;
use crate::Failure;
use crate::commands::job_options::priority;
use crate::commands::named;
use crate::output::{each, print, print_json};
use crate::remote::Remote;

pub(crate) use filter::{FilterArgs, StateArgs, time_or_ago};
pub(crate) use list::{Extent, print_jobs};
pub(crate) use show::describe;

const EXAMPLES: &str = "\
Examples:
  rota jobs                                    the newest 20
  rota jobs --state discarded --queue email    those that failed permanently
  rota jobs show 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7
  rota jobs list --type 'email.*' --since 2h --all --json | jq -r '.jobs[].id'";

const LIST_EXAMPLES: &str = "\
Examples:
  rota jobs list --state retryable             what failed and will be tried again
  rota jobs list --queue email --type 'email.*' --since 2h
  rota jobs list --all --json                  {\"jobs\": [...], \"total\": N, \"next_cursor\": null}";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota jobs show 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7
  rota jobs show 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7 --json | jq .errors";

const CANCEL_EXAMPLES: &str = "\
Examples:
  rota jobs cancel 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7
  rota jobs cancel --queue email --type 'email.*' --yes
  rota jobs cancel --mode cooperative 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7     ask its worker to end it";

const SET_EXAMPLES: &str = "\
Examples:
  rota jobs set 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7 --priority 10
  rota jobs set 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7 --priority low

The job takes its place among the waiting jobs of its new priority: before all that were enqueued
after it.";

const RETRY_EXAMPLES: &str = "\
Examples:
  rota jobs retry 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7
  rota jobs retry --state discarded --queue email --since 2h --yes";

const ACTIVATE_EXAMPLES: &str = "\
Examples:
  rota jobs activate 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7     enqueued with --pending";

const DELETE_EXAMPLES: &str = "\
Examples:
  rota jobs delete --state completed --until 7d --yes
  rota jobs delete --queue email --yes         all that have ended in this queue";

/// List, show, change, cancel and retry jobs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Jobs {
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
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),

    /// Show a job in detail
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[arg(value_name = "ID", value_parser = named)]
        id: String,
    },

    /// Cancel unfinished jobs
    #[command(after_help = CANCEL_EXAMPLES)]
    Cancel(CancelArgs),

    /// Give jobs that have not started another priority
    #[command(after_help = SET_EXAMPLES)]
    Set {
        #[arg(value_name = "ID", value_parser = named, required = true)]
        ids: Vec<String>,

        /// Priority from -100 to 100, higher goes first; or high, normal, low
        #[arg(long, value_name = "N", value_parser = priority, allow_hyphen_values = true)]
        priority: i64,
    },

    /// Retry discarded or cancelled jobs from the start
    #[command(after_help = RETRY_EXAMPLES)]
    Retry(ChangeArgs),

    /// Make pending jobs available
    #[command(after_help = ACTIVATE_EXAMPLES)]
    Activate {
        #[arg(value_name = "ID", value_parser = named, required = true)]
        ids: Vec<String>,
    },

    /// Delete finished jobs
    #[command(after_help = DELETE_EXAMPLES)]
    Delete(MatchingArgs),
}

impl Jobs {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        let Some(action) = self.action else { return self.list.print(&client, json).await };
        if self.list != ListArgs::default() {
            return Err(Failure::misplaced_filters("rota jobs list --state discarded"));
        }
        match action {
            Action::List(list) => list.print(&client, json).await,
            Action::Show { id } => {
                let job = client.job(&id).await?;
                if json { print_json(&job) } else { print(&describe(&job)) }
            }
            Action::Cancel(jobs) => jobs.run(&client, json).await,
            Action::Set { ids, priority } => {
                let one = async |id: &str| client.set_priority(id, priority).await;
                each(&ids, "changed", "jobs", json, one).await
            }
            Action::Retry(jobs) => {
                let one = async |id: &str| client.retry(id).await;
                jobs.run(Change::Retry, &client, json, one).await
            }
            Action::Delete(jobs) => jobs.run(Change::Delete, &client, json).await,
            Action::Activate { ids } => {
                each(&ids, "activated", "jobs", json, async |id| client.activate(id).await).await
            }
        }
    }
}
