//! `rota tenants list`: lists tenants.

use clap::{Args, ValueEnum};
use rota_client::{Client, TenantOrder, TenantSummary};

use crate::Failure;
use crate::output::{List, Table, decimal, percent};

const LONGEST_PAGE: u32 = 100;

const EXAMPLES: &str = "\
Examples:
  rota tenants list --sort depth               those with the most jobs waiting first
  rota tenants list --json | jq -r '.tenants[] | select(.throttled) | .tenant_id'";

#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Sort order; default by id
    #[arg(long, value_enum, value_name = "BY")]
    sort: Option<Sort>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sort {
    /// By id
    Id,
    /// Most waiting jobs first
    Depth,
    /// Most active jobs first
    Active,
    /// Most jobs enqueued first
    Enqueued,
}

impl ListArgs {
    pub async fn print(self, client: &Client, as_json: bool) -> Result<(), Failure> {
        let order = match self.sort {
            None | Some(Sort::Id) => TenantOrder::Id,
            Some(Sort::Depth) => TenantOrder::Depth,
            Some(Sort::Active) => TenantOrder::Active,
            Some(Sort::Enqueued) => TenantOrder::Enqueued,
        };
        let header = [
            "TENANT",
            "AVAILABLE",
            "ACTIVE",
            "SCHEDULED",
            "DEPTH",
            "COMPLETED 24H",
            "FAILED 24H",
            "WEIGHT",
            "ENTITLED",
            "ACTUAL",
            "ORIGIN",
            "",
        ];
        let list = List {
            name: "tenants",
            as_json,
            most: None,
            longest_page: LONGEST_PAGE,
            cursor: None,
            table: Table::new(&header).numbers_in(1..10).hide_first([10, 6, 5, 3, 1, 7, 9, 8, 2]),
            tenants_in: None,
            if_empty: "no tenants yet; the first job of a tenant makes it known",
            if_more: "",
        };
        list.print(cells, async |limit, at| client.tenants(order, limit, at).await).await
    }
}

fn cells(tenant: &TenantSummary) -> Vec<String> {
    let (jobs, fairness) = (&tenant.jobs, &tenant.fairness);
    let counts = [
        jobs.available,
        jobs.active,
        jobs.scheduled,
        tenant.depth,
        jobs.completed_24h,
        jobs.failed_24h,
    ];
    let mut cells = vec![tenant.tenant_id.clone()];
    cells.extend(counts.map(|count| count.to_string()));
    let weight = fairness.effective_weight.or(fairness.weight);
    cells.push(weight.map(decimal).unwrap_or_default());
    cells.push(fairness.effective_share.map(percent).unwrap_or_default());
    cells.push(fairness.actual_share.map(percent).unwrap_or_default());
    cells.push(tenant.origin.clone().unwrap_or_default());
    cells.push(if tenant.throttled { "throttled".to_owned() } else { String::new() });
    cells
}
