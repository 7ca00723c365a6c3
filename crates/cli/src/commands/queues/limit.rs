//! `rota queues limit`: shows or sets a queue's rate limit.

use clap::Args;
use rota_client::{Client, Limited};

use crate::Failure;
use crate::commands::limits::{Numbers, describe, set};
use crate::commands::named;
use crate::output::{print, print_json};

const EXAMPLES: &str = "\
Examples:
  rota queues limit email                      the limit, and what is used of it
  rota queues limit email --rate 100/1m --concurrency 10
  rota queues limit email --throttle 5/1s --for 1h --reason 'a slow provider'
  rota queues limit email --clear

It holds for all jobs of the queue together. It is the rate limit with the key queue:NAME;
`rota limits set --help` says what --for changes about it.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Limit {
    #[arg(value_name = "QUEUE", value_parser = named)]
    name: String,

    #[command(flatten)]
    numbers: Numbers,

    /// Remove the limit
    #[arg(long, conflicts_with_all = ["concurrency", "rate", "throttle", "lasts", "reason"])]
    clear: bool,
}

impl Limit {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let queue = Limited::Queue(&self.name);
        let limit = match self.numbers.given()? {
            Some(limit) => set(client, queue, &limit, json).await?,
            None if self.clear => client.clear_rate_limit(queue).await?,
            None => client.rate_limit(queue).await?,
        };
        if json { print_json(&limit) } else { print(&describe(&limit)) }
    }
}
