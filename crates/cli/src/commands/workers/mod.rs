//! `rota workers`: shows workers, and quiets, stops and removes them.

mod list;
mod show;

use clap::{Args, Subcommand};
use rota_client::WorkerChange;

use self::list::list;
use self::show::describe;
use crate::Failure;
use crate::commands::named;
use crate::output::{each, print, print_json};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota workers                                 all workers and how many jobs they run
  rota workers quiet mailer-1                  let it finish, and give it no more
  rota workers show mailer-1                   what it is working on";

const LIST_EXAMPLES: &str = "\
Examples:
  rota workers list
  rota workers list --json | jq -r '.workers[] | select(.state == \"stale\") | .id'";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota workers show mailer-1
  rota workers show mailer-1 --json | jq -r '.active_job_ids[]'";

const QUIET_EXAMPLES: &str = "\
Examples:
  rota workers quiet mailer-1                  then wait until it has no active jobs

It is handed no jobs from now on; it is told so with its next heartbeat.";

const STOP_EXAMPLES: &str = "\
Examples:
  rota workers stop mailer-1 mailer-2

It is handed no jobs from now on, and its next heartbeat tells it to finish and exit.";

const RESUME_EXAMPLES: &str = "\
Examples:
  rota workers resume mailer-1                 takes back quiet and stop";

const REMOVE_EXAMPLES: &str = "\
Examples:
  rota workers remove mailer-1                 its jobs go back into their queues at once

Only a worker that was not heard of for the heartbeat timeout can be removed.";

/// List, quiet, stop and remove workers
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Workers {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all workers
    #[command(after_help = LIST_EXAMPLES)]
    List,

    /// Show a worker in detail
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[arg(value_name = "WORKER", value_parser = named)]
        id: String,
    },

    /// Stop giving workers new jobs; they finish those they have
    #[command(after_help = QUIET_EXAMPLES)]
    Quiet(Ids),

    /// Tell workers to finish and exit
    #[command(after_help = STOP_EXAMPLES)]
    Stop(Ids),

    /// Cancel quiet or stop for workers
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(Ids),

    /// Remove workers that are gone, and requeue their jobs
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove(Ids),
}

#[derive(Debug, Args)]
struct Ids {
    #[arg(value_name = "WORKER", value_parser = named, required = true)]
    ids: Vec<String>,
}

impl Workers {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        let change = async |workers: Ids, verb: &str, change| {
            let act = async |id: &str| client.change_worker(id, change).await;
            each(&workers.ids, verb, "workers", json, act).await
        };
        match self.action.unwrap_or(Action::List) {
            Action::List => list(&client, json).await,
            Action::Show { id } => {
                let worker = client.worker(&id).await?;
                if json { print_json(&worker) } else { print(&describe(&worker)) }
            }
            Action::Quiet(workers) => change(workers, "quieted", WorkerChange::Quiet).await,
            Action::Stop(workers) => change(workers, "told to stop", WorkerChange::Terminate).await,
            Action::Resume(workers) => change(workers, "resumed", WorkerChange::Resume).await,
            Action::Remove(workers) => {
                let act = async |id: &str| client.remove_worker(id).await;
                each(&workers.ids, "removed", "workers", json, act).await
            }
        }
    }
}
