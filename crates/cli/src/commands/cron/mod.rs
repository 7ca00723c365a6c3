//! `rota cron`: recurring jobs.

mod add;
mod history;
mod list;
mod show;

use clap::{Args, Subcommand};

use self::add::Add;
use self::list::list;
use self::show::describe;
use crate::Failure;
use crate::commands::named;
use crate::output::{each, print, print_json, print_line};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota cron                                    all schedules and their next runs
  rota cron add nightly-report '0 2 * * *' report.build --timezone Europe/Berlin
  rota cron disable nightly-report             keep it, but let it not run";

const LIST_EXAMPLES: &str = "\
Examples:
  rota cron list
  rota cron list --json | jq -r '.crons[] | select(.enabled) | .name'";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota cron show nightly-report";

const REMOVE_EXAMPLES: &str = "\
Examples:
  rota cron remove nightly-report              runs that are enqueued already stay";

const TRIGGER_EXAMPLES: &str = "\
Examples:
  rota cron trigger nightly-report             prints the id of the run's job

Quotas and the overlap policy apply: with `skip`, it fails while an earlier run is unfinished.";

const HISTORY_EXAMPLES: &str = "\
Examples:
  rota cron history nightly-report             what became of the last 20 runs
  rota cron history nightly-report --json | jq -r '.executions[] | select(.state == \"discarded\")'";

const ENABLE_EXAMPLES: &str = "\
Examples:
  rota cron enable nightly-report              missed runs are not made up for";

const DISABLE_EXAMPLES: &str = "\
Examples:
  rota cron disable nightly-report";

/// List, add and remove recurring jobs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Crons {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all schedules
    #[command(after_help = LIST_EXAMPLES)]
    List,

    /// Add or replace a schedule
    Add(Box<Add>),

    /// Show a schedule in detail
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[arg(value_name = "NAME", value_parser = named)]
        name: String,
    },

    /// Remove schedules
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove(Names),

    /// Start a run now, even if the schedule is disabled
    #[command(after_help = TRIGGER_EXAMPLES)]
    Trigger {
        #[arg(value_name = "NAME", value_parser = named)]
        name: String,
    },

    /// Show the last runs of a schedule
    #[command(after_help = HISTORY_EXAMPLES)]
    History {
        #[arg(value_name = "NAME", value_parser = named)]
        name: String,
    },

    /// Enable schedules
    #[command(after_help = ENABLE_EXAMPLES, visible_alias = "resume")]
    Enable(Names),

    /// Disable schedules
    #[command(after_help = DISABLE_EXAMPLES, visible_alias = "pause")]
    Disable(Names),
}

#[derive(Debug, Args)]
struct Names {
    #[arg(value_name = "NAME", value_parser = named, required = true)]
    names: Vec<String>,
}

impl Crons {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        match self.action.unwrap_or(Action::List) {
            Action::List => list(&client, json).await,
            Action::Add(add) => add.run(&client, json).await,
            Action::Show { name } => {
                let cron = client.cron(&name).await?;
                if json { print_json(&cron) } else { print(&describe(&cron)) }
            }
            Action::Remove(Names { names }) => {
                let act = async |name: &str| client.delete_cron(name).await;
                each(&names, "removed", "crons", json, act).await
            }
            Action::Trigger { name } => {
                let run = client.trigger_cron(&name).await?;
                if json { print_json(&run) } else { print_line(&run.job_id) }
            }
            Action::History { name } => history::list(&client, &name, json).await,
            Action::Enable(Names { names }) => {
                let act = async |name: &str| client.enable_cron(name, true).await;
                each(&names, "enabled", "crons", json, act).await
            }
            Action::Disable(Names { names }) => {
                let act = async |name: &str| client.enable_cron(name, false).await;
                each(&names, "disabled", "crons", json, act).await
            }
        }
    }
}
