//! `rota limits list`: lists rate limit keys.

use clap::Args;
use rota_client::{Client, RateLimit};

use super::show::{concurrency, notes, rate, throttle};
use crate::Failure;
use crate::output::{List, Table};

const LONGEST_PAGE: u32 = 100;
pub(super) const HEADER: [&str; 8] =
    ["KEY", "SCOPE", "TENANT", "CONCURRENCY", "RATE", "THROTTLE", "WAITING", ""];

const EXAMPLES: &str = "\
Examples:
  rota limits list
  rota limits list --prefix queue:             those of queues
  rota limits list --json | jq -r '.rate_limits[] | select(.waiting_count > 100) | .key'";

#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Only keys with this prefix
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
}

impl ListArgs {
    pub async fn print(self, client: &Client, as_json: bool) -> Result<(), Failure> {
        let list = List {
            name: "rate_limits",
            as_json,
            most: None,
            longest_page: LONGEST_PAGE,
            cursor: None,
            table: Table::new(&HEADER).numbers_in([3, 4, 5, 6]).hide_first([1, 5, 4, 3]),
            tenants_in: Some(2),
            if_empty: "no rate limits; `rota limits set --help` shows how to set one",
            if_more: "",
        };
        let prefix = self.prefix.as_deref();
        list.print(cells, async |limit, at| client.rate_limits(prefix, limit, at).await).await
    }
}

pub(super) fn cells(limit: &RateLimit) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    vec![
        limit.key.clone(),
        or_dash(limit.scope.clone()),
        or_dash(limit.tenant_id.clone()),
        or_dash(concurrency(limit)),
        or_dash(rate(limit)),
        or_dash(throttle(limit)),
        limit.waiting_count.to_string(),
        notes(limit).join(", "),
    ]
}
