//! `rota maintenance`: stops the server from handing out jobs for a while.

use clap::{Args, Subcommand};
use rota_client::Maintenance as Answer;

use super::job_options::longer_than_0;
use super::rate::iso8601;
use crate::Failure;
use crate::output::{Table, moment, print, print_json};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota maintenance                             whether it is on, since when and why
  rota maintenance on --reason 'database upgrade' --for 30m
  rota maintenance off

In maintenance, jobs are accepted but none is handed out. Jobs that run go on, and are acknowledged.
It stays on until it is turned off, even if the server restarts.";

const ON_EXAMPLES: &str = "\
Examples:
  rota maintenance on
  rota maintenance on --reason 'database upgrade' --for 30m";

const OFF_EXAMPLES: &str = "\
Examples:
  rota maintenance off                         hand out jobs again";

/// Show maintenance mode, or turn it on or off
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Maintenance {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Hand out no jobs until it is turned off
    #[command(after_help = ON_EXAMPLES)]
    On {
        /// The reason, shown with the status
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,

        /// How long it will probably take, such as 30m; for people, nothing ends by itself
        #[arg(long = "for", value_name = "DURATION", value_parser = expected)]
        lasts: Option<String>,
    },

    /// Hand out jobs again
    #[command(after_help = OFF_EXAMPLES)]
    Off,
}

impl Maintenance {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.remote.client()?;
        let state = match self.action {
            None => client.maintenance().await?,
            Some(Action::Off) => client.set_maintenance(false, None, None).await?,
            Some(Action::On { reason, lasts }) => {
                client.set_maintenance(true, reason.as_deref(), lasts.as_deref()).await?
            }
        };
        if self.remote.json { print_json(&state) } else { print(&describe(&state)) }
    }
}

fn describe(state: &Answer) -> String {
    let mut table = Table::of_fields();
    table.field("maintenance", if state.maintenance { "on" } else { "off" });
    table.field_if("since", state.enabled_at.as_deref().map(moment));
    table.field_if("expected end", state.estimated_end.as_deref().map(moment));
    table.field_if("reason", state.reason.as_ref());
    table.take()
}

fn expected(text: &str) -> Result<String, String> {
    longer_than_0(text)?;
    iso8601(text)
}
