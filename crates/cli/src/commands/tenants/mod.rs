//! `rota tenants`: configures tenants and shows what each one uses.

mod changes;
mod delete;
mod limits;
mod list;
mod options;
mod show;
mod stats;
mod top;
mod usage;

use clap::{Args, Subcommand};

use self::delete::Delete;
use self::limits::LimitsArgs;
use self::list::ListArgs;
use self::options::Options;
use self::top::Top;
use self::usage::UsageArgs;
use crate::Failure;
use crate::commands::named;
use crate::output::{each, print, print_json};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota tenants                                 all tenants, their jobs and their shares
  rota tenants top                             who gets what, second by second
  rota tenants limits acme --max-concurrency 5 --reason 'their API is down'
  rota tenants stats acme                      one tenant, queue by queue
  rota tenants usage acme --per day            what it used, day by day";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota tenants show acme                       weight and limits, and who has set them
  rota tenants show acme --json | jq .limits";

const SET_EXAMPLES: &str = "\
Examples:
  rota tenants set acme --weight 5 --max-concurrency 10 --max-queue-depth 50000
  rota tenants set acme --max-enqueue-rate 1000/1m --quota soft --reason 'trial'
  rota tenants set acme --max-queue-depth none             remove one limit
  rota tenants set acme --weight 5 --replace               weight 5 and the defaults for the rest

Values that are not given stay as they are, unless --replace is given.";

const STATS_EXAMPLES: &str = "\
Examples:
  rota tenants stats acme
  rota tenants stats acme --json | jq .throughput";

const CHANGES_EXAMPLES: &str = "\
Examples:
  rota tenants changes acme                    what was changed, when and why";

const RELEASE_EXAMPLES: &str = "\
Examples:
  rota tenants release acme                    give it its whole weight back";

/// Configure tenants and see what each of them gets
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tenants {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all tenants
    List(ListArgs),

    /// Show a live ranking of tenants by dispatched jobs
    Top(Top),

    /// Show a tenant's configuration
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Id),

    /// Set a tenant's weight, limits and priorities
    #[command(after_help = SET_EXAMPLES)]
    Set {
        #[command(flatten)]
        tenant: Id,

        #[command(flatten)]
        options: Options,

        /// Replace the whole configuration: what is not given returns to its default
        #[arg(long)]
        replace: bool,
    },

    /// Show a tenant's limits and their use, or change some of them
    Limits(LimitsArgs),

    /// Show a tenant's statistics, queue by queue
    #[command(after_help = STATS_EXAMPLES)]
    Stats(Id),

    /// Show a tenant's usage per hour or day
    Usage(UsageArgs),

    /// Show the changes of a tenant's configuration
    #[command(after_help = CHANGES_EXAMPLES)]
    Changes(Id),

    /// End the throttling of noisy tenants
    #[command(after_help = RELEASE_EXAMPLES)]
    Release {
        #[arg(value_name = "ID", value_parser = named, required = true)]
        ids: Vec<String>,
    },

    /// Delete a tenant's configuration, or the tenant and all its jobs
    Delete(Delete),
}

#[derive(Debug, Args)]
struct Id {
    #[arg(value_name = "ID", value_parser = named)]
    id: String,
}

impl Tenants {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        match self.action.unwrap_or(Action::List(ListArgs::default())) {
            Action::List(list) => list.print(&client, json).await,
            Action::Top(top) => top.run(&client, json).await,
            Action::Show(Id { id }) => {
                let tenant = client.tenant(&id).await?;
                if json { print_json(&tenant) } else { print(&show::describe(&tenant)) }
            }
            Action::Set { tenant: Id { id }, options, replace } => {
                if options.is_empty() {
                    return Err(Failure::usage("nothing is given to set").hint(
                        "Give at least one value, such as --weight 5; `rota tenants set --help` \
                         lists them.",
                    ));
                }
                let config = options.config();
                let tenant = match replace {
                    true => client.set_tenant(&id, &config).await?,
                    false => client.change_tenant(&id, &config).await?,
                };
                if json { print_json(&tenant) } else { print(&show::describe(&tenant)) }
            }
            Action::Limits(limits) => limits.run(&client, json).await,
            Action::Stats(Id { id }) => {
                let stats = client.tenant_stats(&id).await?;
                if json { print_json(&stats) } else { print(&stats::describe(&id, &stats)) }
            }
            Action::Usage(usage) => usage.run(&client, json).await,
            Action::Changes(Id { id }) => changes::list(&client, &id, json).await,
            Action::Release { ids } => {
                let act = async |id: &str| client.release_tenant(id).await;
                each(&ids, "released", "tenants", json, act).await
            }
            Action::Delete(delete) => delete.run(&client, json).await,
        }
    }
}
