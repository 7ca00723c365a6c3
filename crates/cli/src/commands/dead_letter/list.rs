//! `rota dead-letter list`: lists jobs that failed permanently.

use clap::Args;
use rota_client::Client;

use crate::Failure;
use crate::commands::jobs::{Extent, FilterArgs, StateArgs, print_jobs};

pub(super) const EXAMPLES: &str = "\
Examples:
  rota dead-letter list --queue email --all
  rota dead-letter list --all --json | jq -r '.jobs[].id' | xargs rota dead-letter retry";

#[derive(Debug, Default, PartialEq, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,

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
            async |filter, limit, at| client.dead_letters(filter, limit, at).await,
        )
        .await
    }
}
