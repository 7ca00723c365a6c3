//! `rota dead-letter list`: lists jobs that failed permanently.

use clap::Args;
use rota_client::Client;

use crate::Failure;
use crate::commands::jobs::{Extent, FilterArgs, StateArgs, print_jobs};

pub(super) const EXAMPLES: &str = "\
Examples:
  rota dead-letter list --queue email --all
  rota dead-letter list --error smtp_timeout
  rota dead-letter list --all --json | jq -r '.jobs[].id' | xargs rota dead-letter retry";

#[derive(Debug, Default, PartialEq, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,

    /// Jobs whose last error has this type
    #[arg(long, value_name = "TYPE")]
    error: Option<String>,

    #[command(flatten)]
    extent: Extent,
}

impl ListArgs {
    pub async fn print(self, client: &Client, as_json: bool) -> Result<(), Failure> {
        let filter = self.filter.filter(&StateArgs::default());
        print_jobs(
            self.extent,
            filter,
            as_json,
            "no jobs in the dead letter match",
            async |filter, limit, at| {
                client.dead_letters(filter, self.error.as_deref(), limit, at).await
            },
        )
        .await
    }
}
