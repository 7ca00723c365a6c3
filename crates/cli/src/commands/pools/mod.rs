//! `rota pools`: groups of workers that share queues.

mod list;
mod set;
mod show;

use clap::{Args, Subcommand};

use self::list::list;
use self::set::Set;
use self::show::describe;
use crate::Failure;
use crate::commands::named;
use crate::output::{each, print, print_json};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota pools                                   all pools, their queues and how busy they are
  rota pools set mail --queue email --queue bulk --strategy weighted --weight email=3
  rota work --pool mail -- ./send-email.sh     a worker of this pool";

const LIST_EXAMPLES: &str = "\
Examples:
  rota pools list
  rota pools list --json | jq -r '.pools[] | select(.utilization > 0.9) | .name'";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota pools show mail";

const DELETE_EXAMPLES: &str = "\
Examples:
  rota pools delete mail                       jobs and queues stay as they are";

/// Manage groups of workers that share queues
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Pools {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all pools
    #[command(after_help = LIST_EXAMPLES)]
    List,

    /// Show a pool in detail
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[arg(value_name = "POOL", value_parser = named)]
        name: String,
    },

    /// Create or replace a pool
    Set(Set),

    /// Delete pools
    #[command(after_help = DELETE_EXAMPLES)]
    Delete {
        #[arg(value_name = "POOL", value_parser = named, required = true)]
        names: Vec<String>,
    },
}

impl Pools {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        match self.action.unwrap_or(Action::List) {
            Action::List => list(&client, json).await,
            Action::Show { name } => {
                let pool = client.pool(&name).await?;
                if json { print_json(&pool) } else { print(&describe(&pool)) }
            }
            Action::Set(set) => set.run(&client, json).await,
            Action::Delete { names } => {
                let act = async |name: &str| client.delete_pool(name).await;
                each(&names, "deleted", "pools", json, act).await
            }
        }
    }
}
