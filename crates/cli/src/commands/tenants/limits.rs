//! `rota tenants limits`: shows or changes a tenant's limits.

use std::collections::BTreeMap;

use clap::Args;
use rota_client::{Client, LimitUse};
use serde_json::Value;

use super::options::Options;
use super::show::describe;
use crate::Failure;
use crate::commands::named;
use crate::commands::rate::short;
use crate::output::{Table, decimal, print, print_json, remark};

const EXAMPLES: &str = "\
Examples:
  rota tenants limits acme                     the limits, and how much of each is used
  rota tenants limits acme --max-concurrency 5 --reason 'their API is down'
  rota tenants limits acme --max-concurrency none --max-queue-depth 100000

Values that are not given stay as they are; `none` removes a limit.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LimitsArgs {
    #[arg(value_name = "ID", value_parser = named)]
    id: String,

    #[command(flatten)]
    options: Options,
}

impl LimitsArgs {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        if !self.options.is_empty() {
            let tenant = client.change_tenant(&self.id, &self.options.config()).await?;
            return if json { print_json(&tenant) } else { print(&describe(&tenant)) };
        }
        if self.options.has_reason() {
            return Err(Failure::usage("a reason is given, but nothing to change").hint(
                "Give at least one value, such as --max-concurrency 5; \
                 `rota tenants limits --help` lists them.",
            ));
        }
        let limits = client.tenant_limits(&self.id).await?;
        if json {
            return print_json(&limits);
        }
        let table = table(&limits.limits);
        if table.is_empty() {
            remark(&format!("{} has no limits", self.id));
        }
        print(&table)
    }
}

/// The configured limits, and how much of each is used.
pub(super) fn table(limits: &BTreeMap<String, Option<LimitUse>>) -> String {
    let mut table = Table::new(&["LIMIT", "USED", "OF"]).numbers_in([1, 2]);
    for (name, used) in limits {
        let Some((used, most)) = used.as_ref().and_then(|used| Some((used, most(used)?))) else {
            continue;
        };
        let current = used.current.map_or_else(|| "-".to_owned(), decimal);
        table.row(vec![name.clone(), current, most]);
    }
    table.take()
}

/// `50000`, or `1000/1m` for a rate; empty without a limit.
fn most(used: &LimitUse) -> Option<String> {
    let (limit, period) = match &used.limit {
        Value::Null => return None,
        Value::Object(rate) => (rate.get("limit")?, rate.get("period").and_then(Value::as_str)),
        number => (number, used.period.as_deref()),
    };
    Some(match period {
        Some(period) => format!("{limit}/{}", short(period)),
        None => limit.to_string(),
    })
}
