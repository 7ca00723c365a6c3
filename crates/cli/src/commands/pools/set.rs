//! `rota pools set`: creates or replaces a pool.

use clap::Args;
use rota_client::{Client, NewPool, PoolTenants, StarvationPrevention};

use super::show::describe;
use crate::Failure;
use crate::commands::named;
use crate::commands::number::{at_least, ratio};
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
  rota pools set fast --queue email --concurrency 20 --open-to acme --open-to globex
                                    no other tenant's workers may use it
  rota pools set mine --queue email --tenant acme
                                    a pool of the tenant acme

A pool of the same name is replaced.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Set {
    #[arg(value_name = "POOL", value_parser = named)]
    name: String,

    /// A queue that the pool serves; repeatable
    #[arg(long, value_name = "NAME", required = true)]
    queue: Vec<String>,

    /// Maximum active jobs across all its workers
    #[arg(long, value_name = "N", value_parser = at_least(1_u64))]
    concurrency: Option<u64>,

    /// How to choose the next queue; default round-robin, or weighted if there are weights
    #[arg(long, value_parser = STRATEGIES)]
    strategy: Option<String>,

    /// The weight of a queue, for the strategy weighted; repeatable
    #[arg(long, value_name = "QUEUE=N", value_parser = weight)]
    weight: Vec<(String, u64)>,

    /// Let only this pool's workers serve its queues
    #[arg(long)]
    isolated: bool,

    /// Maximum time that a queue with jobs goes unserved
    #[arg(long, value_name = "DURATION", value_parser = iso8601)]
    rotation_interval: Option<String>,

    /// Minimum part of all dispatches for each queue, from 0 to 1
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    min_dispatch_ratio: Option<f64>,

    /// Whether tenants' shares apply to each queue or to all queues of the pool together; default: the
    /// server's setting
    #[arg(long, value_name = "SCOPE", value_parser = ["queue", "pool"])]
    fairness_scope: Option<String>,

    /// A tenant that may use an operator's pool, or `*` for all; repeatable; default: all, or none with
    /// queues per tenant
    #[arg(long = "open-to", value_name = "TENANT", conflicts_with = "closed")]
    open_to: Vec<String>,

    /// Share the slots of --concurrency among tenants by weight
    #[arg(long, requires = "concurrency")]
    fair: bool,

    /// Let no tenant use an operator's pool
    #[arg(long)]
    closed: bool,
}

fn tenants(open_to: Vec<String>, closed: bool) -> Option<PoolTenants> {
    match open_to.iter().any(|tenant| tenant == "*") {
        true => Some(PoolTenants::All("*".to_owned())),
        false if closed || !open_to.is_empty() => Some(PoolTenants::Listed(open_to)),
        false => None,
    }
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
            tenants: tenants(self.open_to, self.closed),
            fair: self.fair,
        };
        let pool = client.set_pool(&self.name, &pool).await?;
        if json { print_json(&pool) } else { print(&describe(&pool)) }
    }
}
