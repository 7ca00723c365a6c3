//! `rota tenants top`: who gets what, second by second.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use rota_client::{Client, Error, FairTenant, Fairness, Kept};

use crate::Failure;
use crate::commands::fairness::headline;
use crate::commands::job_options::duration_ms;
use crate::output::{CLEAR, Table, decimal, percent, print, print_json, printable, screen};

const EXAMPLES: &str = "\
Examples:
  rota tenants top                             those who were served most first, until Ctrl-C
  rota tenants top -n 5 --interval 5s
  rota tenants top --once                      one table, as when the output is no terminal";

const SHORTEST_INTERVAL: u64 = 100;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Top {
    /// Print one table and exit
    #[arg(long)]
    once: bool,

    /// How often it is drawn anew
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    interval: Duration,

    /// At most so many tenants
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,
}

impl Top {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let fairness = client.fairness(Some(self.limit)).await?;
        if json {
            return print_json(&fairness);
        }
        let first = self.table(client, &fairness).await?;
        if self.once || !std::io::stdout().is_terminal() {
            return print(&first);
        }
        let mut text = first;
        print(CLEAR)?;
        loop {
            print(&screen(&text))?;
            tokio::time::sleep(self.interval).await;
            text = match self.next(client).await {
                Ok(table) => table,
                // It may be back soon, and then there is something to see.
                Err(error) if error.is_transient() => printable(&error.to_string()),
                Err(error) => return Err(error.into()),
            };
        }
    }

    async fn next(&self, client: &Client) -> Result<String, Error> {
        let fairness = client.fairness(Some(self.limit)).await?;
        self.table(client, &fairness).await
    }

    async fn table(&self, client: &Client, fairness: &Kept<Fairness>) -> Result<String, Error> {
        let header =
            ["TENANT", "DISPATCHED", "BACKLOG", "ACTIVE", "ENTITLED", "ACTUAL", "ENQUEUED/M", ""];
        let mut table = Table::new(&header).numbers_in(1..7);
        let most = usize::try_from(self.limit).unwrap_or(usize::MAX);
        for tenant in fairness.tenants.iter().take(most) {
            let enqueued = enqueued(client, tenant).await?;
            table.row(vec![
                tenant.tenant_id.clone(),
                tenant.dispatched_1m.to_string(),
                tenant.backlog.to_string(),
                tenant.active.to_string(),
                percent(tenant.entitled_share),
                percent(tenant.actual_share),
                enqueued.map_or_else(|| "-".to_owned(), decimal),
                if tenant.throttled { "throttled".to_owned() } else { String::new() },
            ]);
        }
        Ok(format!("{}\n\n{}", headline(fairness), table.take()))
    }
}

/// Of the last minute.
async fn enqueued(client: &Client, tenant: &FairTenant) -> Result<Option<f64>, Error> {
    if tenant.enqueued_per_minute.is_some() {
        return Ok(tenant.enqueued_per_minute);
    }
    match client.tenant_stats(&tenant.tenant_id).await {
        Ok(stats) => Ok(stats.throughput.enqueued_per_minute),
        // It was forgotten meanwhile.
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match duration_ms(text)? {
        SHORTEST_INTERVAL.. => duration_ms(text).map(Duration::from_millis),
        _ => Err("it must be at least 100ms".to_owned()),
    }
}
