//! `rota regions`: shows how the regions behind a gateway are doing.

use clap::{Args, Subcommand};
use rota_client::GatewayRegion;
use serde_json::json;

use crate::Failure;
use crate::output::{Table, print, print_json};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota regions --url http://127.0.0.1:8090      health, breakers, latency and load
  rota regions route email.send                 where a job would go, and why
  rota regions route user.export --region eu-west-1
  rota regions --json | jq -r '.regions[] | select(.status != \"healthy\") | .id'

The address is that of a gateway: `rota federate`.";

const LIST_EXAMPLES: &str = "\
Examples:
  rota regions list --url http://127.0.0.1:8090
  rota regions list --json | jq '.regions[].latency_ms'";

const ROUTE_EXAMPLES: &str = "\
Examples:
  rota regions route email.send                 the default strategy
  rota regions route video.cut --strategy overflow --tag gpu
  rota regions route user.export --region eu-west-1

Nothing is sent to a region.";

/// Show the regions behind a gateway, and where a job would go
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Regions {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show how the regions are doing
    #[command(after_help = LIST_EXAMPLES)]
    List,

    /// Say where a job would go and why, without sending it
    #[command(after_help = ROUTE_EXAMPLES)]
    Route {
        /// The job type
        #[arg(value_name = "TYPE")]
        kind: String,

        /// The region in which the job must run
        #[arg(long, value_name = "REGION")]
        region: Option<String>,

        /// How a region is chosen, such as overflow
        #[arg(long, value_name = "STRATEGY")]
        strategy: Option<String>,

        /// A tag that the region must have; may be repeated
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
    },
}

impl Regions {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.remote.client()?;
        match self.action {
            None | Some(Action::List) => {
                let regions = client.gateway_regions().await?;
                if self.remote.json {
                    return print_json(&regions);
                }
                print(&table(&regions.regions))
            }
            Some(Action::Route { kind, region, strategy, tags }) => {
                let mut meta = serde_json::Map::new();
                let mut wish = |name: &str, value: serde_json::Value| {
                    meta.insert(format!("ojs.federation.{name}"), value);
                };
                if let Some(region) = region {
                    wish("region", region.into());
                }
                if let Some(strategy) = strategy {
                    wish("region_affinity", strategy.into());
                }
                if !tags.is_empty() {
                    wish("tags", tags.into());
                }
                let job = json!({"type": kind, "args": [], "meta": meta});
                let route = client.gateway_route(&job).await?;
                if self.remote.json {
                    return print_json(&route);
                }
                let mut table = Table::of_fields();
                table.field("region", route.target_region.as_deref().unwrap_or("none"));
                table.field("strategy", &route.strategy);
                table.field_if("reason", route.reason.as_ref());
                for candidate in &route.candidates {
                    table.field(&candidate.id, &candidate.reason);
                }
                print(&table.take())
            }
        }
    }
}

fn table(regions: &[GatewayRegion]) -> String {
    let mut table = Table::new(&[
        "region",
        "status",
        "circuit",
        "latency",
        "waiting",
        "active",
        "share",
        "pins refused",
    ]);
    for region in regions {
        let load = |part: fn(&rota_client::GatewayLoad) -> u64| {
            region.load.as_ref().map_or("?".to_owned(), |load| part(load).to_string())
        };
        table.row(vec![
            format!("{}{}", region.id, if region.local { " (local)" } else { "" }),
            region.status.clone(),
            region.circuit_breaker.clone(),
            region.latency_ms.map_or("?".to_owned(), |ms| format!("{ms:.1} ms")),
            load(|load| load.waiting),
            load(|load| load.active),
            format!("{:.0} %", region.share * 100.0),
            region.geo_pins_refused.to_string(),
        ]);
    }
    table.take()
}
