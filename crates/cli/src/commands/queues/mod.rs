//! `rota queues`: shows queues, and pauses, bounds and deletes them.

mod config;
mod delete;
mod limit;
mod list;
mod purge;
mod stats;

use clap::{Args, Subcommand};

use self::config::Config;
use self::delete::Delete;
use self::limit::Limit;
use self::list::list;
use self::purge::Purge;
use self::stats::describe;
use crate::Failure;
use crate::commands::named;
use crate::output::{each, print, print_json};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota queues                                  all queues and their jobs by state
  rota queues stats email                      the last hour of one
  rota queues pause email                      hand out no more of its jobs
  rota queues config email --max-depth 100000  reject jobs beyond this backlog
  rota queues limit email --rate 100/1m        limit how often jobs start
  rota queues delete email                     forget a queue without living jobs";

const LIST_EXAMPLES: &str = "\
Examples:
  rota queues list
  rota queues list --json | jq -r '.queues[] | select(.available > 1000) | .name'";

const STATS_EXAMPLES: &str = "\
Examples:
  rota queues stats email
  rota queues stats email --json | jq .stats.avg_wait_ms";

const CREATE_EXAMPLES: &str = "\
Examples:
  rota queues create email

The first job of a queue creates it, too. A queue that was created like this stays while it is idle.";

const PAUSE_EXAMPLES: &str = "\
Examples:
  rota queues pause email reports
  rota queues pause email --tenant acme        only the jobs of this tenant

A paused queue accepts jobs and hands out none. Jobs that run go on. It stays paused until it is
resumed, also over a restart of the server. A queue that does not exist yet is made, and paused.";

const RESUME_EXAMPLES: &str = "\
Examples:
  rota queues resume email reports";

/// List, inspect, pause, bound, limit and delete queues
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Queues {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all queues
    #[command(after_help = LIST_EXAMPLES)]
    List,

    /// Create queues before their first job
    #[command(after_help = CREATE_EXAMPLES)]
    Create {
        #[arg(value_name = "QUEUE", value_parser = named, required = true)]
        names: Vec<String>,
    },

    /// Show a queue's statistics of the last hour
    #[command(after_help = STATS_EXAMPLES)]
    Stats {
        #[arg(value_name = "QUEUE", value_parser = named)]
        name: String,
    },

    /// Pause queues
    #[command(after_help = PAUSE_EXAMPLES)]
    Pause {
        #[arg(value_name = "QUEUE", value_parser = named, required = true)]
        names: Vec<String>,
    },

    /// Resume queues
    #[command(after_help = RESUME_EXAMPLES)]
    Resume {
        #[arg(value_name = "QUEUE", value_parser = named, required = true)]
        names: Vec<String>,
    },

    /// Show or change a queue's configuration
    Config(Config),

    /// Show or set a queue's rate limit
    Limit(Limit),

    /// Delete the waiting jobs of a queue, or those in given states
    Purge(Purge),

    /// Delete a queue
    Delete(Delete),
}

impl Queues {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        match self.action.unwrap_or(Action::List) {
            Action::List => list(&client, json).await,
            Action::Stats { name } => {
                let stats = client.queue_stats(&name).await?;
                if json { print_json(&stats) } else { print(&describe(&stats)) }
            }
            Action::Create { names } => {
                let act = async |name: &str| client.create_queue(name).await;
                each(&names, "created", "queues", json, act).await
            }
            Action::Pause { names } => {
                each(&names, "paused", "queues", json, async |name| client.pause(name).await).await
            }
            Action::Resume { names } => {
                each(&names, "resumed", "queues", json, async |name| client.resume(name).await)
                    .await
            }
            Action::Config(config) => config.run(&client, json).await,
            Action::Limit(limit) => limit.run(&client, json).await,
            Action::Purge(purge) => purge.run(&client, json).await,
            Action::Delete(delete) => delete.run(&client, json).await,
        }
    }
}
