//! `rota pools set`.

use clap::Args;
use rota_client::{Client, NewPool, StarvationPrevention};

use super::show::describe;
use crate::Failure;
use crate::commands::named;
use crate::commands::rate::iso8601;
use crate::commands::weights::{STRATEGIES, weight};
use crate::output::{print, print_json};

const EXAMPLES: &str = "\
Examples:
  rota pools set mail --queue email --queue bulk --strategy weighted --weight email=3
  rota pools set gpu --queue video --concurrency 4 --isolated
                                    nobody else is given jobs of the queue video
  rota pools set night --queue reports --queue exports --strategy strict --rotation-interval 30s
                                    exports get a turn at least every 30 s
  rota pools set all --queue email --queue video --fairness-scope pool
                                    tenants share both queues as one

A pool of the same name is replaced.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Set {
    #[arg(value_name = "POOL", value_parser = named)]
    name: String,

    /// A queue that it works for; can be given many times
    #[arg(long, value_name = "NAME", required = true)]
    queue: Vec<String>,

    /// Jobs at once, of all its workers together
    #[arg(long, value_name = "N")]
    concurrency: Option<u64>,

    /// How a queue is chosen; round-robin unless told
    #[arg(long, value_parser = STRATEGIES)]
    strategy: Option<String>,

    /// The weight of a queue, for the strategy weighted; can be given many times
    #[arg(long, value_name = "QUEUE=N", value_parser = weight)]
    weight: Vec<(String, u64)>,

    /// Give jobs of its queues to nobody else
    #[arg(long)]
    isolated: bool,

    /// Let no queue wait longer than this for its turn
    #[arg(long, value_name = "DURATION", value_parser = iso8601)]
    rotation_interval: Option<String>,

    /// Give each queue at least this part of all turns, from 0 to 1
    #[arg(long, value_name = "RATIO")]
    min_dispatch_ratio: Option<f64>,

    /// What tenants share: each queue by itself, or all queues of the pool together; the server's
    /// setting unless told
    #[arg(long, value_name = "SCOPE", value_parser = ["queue", "pool"])]
    fairness_scope: Option<String>,
}

impl Set {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let prevents = self.rotation_interval.is_some() || self.min_dispatch_ratio.is_some();
        let pool = NewPool {
            queues: self.queue,
            concurrency: self.concurrency,
            strategy: self.strategy,
            weights: self.weight.into_iter().collect(),
            isolated: self.isolated,
            starvation_prevention: prevents.then_some(StarvationPrevention {
                enabled: true,
                rotation_interval: self.rotation_interval,
                min_dispatch_ratio: self.min_dispatch_ratio,
            }),
            fairness_scope: self.fairness_scope,
        };
        let pool = client.set_pool(&self.name, &pool).await?;
        if json { print_json(&pool) } else { print(&describe(&pool)) }
    }
}
