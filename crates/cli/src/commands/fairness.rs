//! `rota fairness`: shows what each tenant is entitled to, and what it got.

use clap::Args;
use rota_client::{FairTenant, Fairness as Shares, SchedulingStats};

use super::number::at_least;
use super::rate::short;
use crate::Failure;
use crate::output::{
    Table, bar, decimal, milliseconds, paragraph, percent, plural, print, print_json, printable,
    remark,
};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota fairness                                `#` is what each got, `|` what it is entitled to
  rota fairness --limit 5                      only those who were served most
  rota fairness --queues                       how often each queue was served; which are starved
  rota fairness --json | jq '.tenants[] | select(.actual_share < .entitled_share / 2)'";

/// Show what each tenant is entitled to, and what it got
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Fairness {
    /// Maximum number of tenants to show
    #[arg(long, value_name = "N", value_parser = at_least(1_u64))]
    limit: Option<u64>,

    /// Show how often each queue was served, instead of each tenant
    #[arg(long, conflicts_with = "limit")]
    queues: bool,

    #[command(flatten)]
    remote: Remote,
}

impl Fairness {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.remote.client()?;
        if self.queues {
            let stats = client.scheduling_stats().await?;
            return if self.remote.json { print_json(&stats) } else { print(&queues(&stats)) };
        }
        let shares = client.fairness(self.limit).await?;
        if self.remote.json {
            return print_json(&shares);
        }
        print(&format!("{}\n", paragraph(&headline(&shares))))?;
        if let Some(sentence) = scope(&shares) {
            print(&format!("{}\n", paragraph(&sentence)))?;
        }
        if shares.tenants.is_empty() {
            remark("no tenants yet; the first job of a tenant makes it known");
            return Ok(());
        }
        print(&format!("\n{}", tenants(&shares.tenants)))
    }
}

/// `weighted by job, 316 jobs handed out within 1m`.
pub(crate) fn headline(shares: &Shares) -> String {
    let strategy = match (shares.enabled, &shares.strategy) {
        (Some(false), _) => "no fairness, in the order of enqueueing".to_owned(),
        (_, Some(strategy)) => match &shares.cost {
            Some(cost) => format!("{strategy} by {cost}"),
            None => strategy.clone(),
        },
        (_, None) => "fair".to_owned(),
    };
    let scope = match shares.priority_scope.as_deref() {
        Some("global") => ", priorities count across tenants",
        Some("tenant") => ", priorities count within a tenant",
        _ => "",
    };
    let window = shares.window.as_deref().map_or_else(|| "1m".to_owned(), short);
    let jobs = plural(shares.total_dispatched_1m, "job", "jobs");
    printable(&format!("{strategy}{scope}; {jobs} handed out within {window}"))
}

/// What shares apply to, and whose jobs count; empty without shares.
fn scope(shares: &Shares) -> Option<String> {
    let scope = shares.scope.as_deref().filter(|_| shares.enabled != Some(false))?;
    let (counted, one, many) = match scope {
        "pool" => {
            let by_itself = "each queue by itself";
            ("over all queues of a pool or fetch together", by_itself, by_itself)
        }
        _ => ("in each queue by itself", "its queues together", "their queues together"),
    };
    let others = match shares.pools_with_other_scope.as_slice() {
        [] => String::new(),
        [pool] => format!("; the pool '{pool}' counts {one}"),
        pools => format!("; {} pools count {many}", pools.len()),
    };
    let own = match shares.charge_own_workers {
        true => " What a tenant's own workers take counts too.",
        false => "",
    };
    Some(printable(&format!("Shares are counted {counted}{others}.{own}")))
}

fn tenants(tenants: &[FairTenant]) -> String {
    let header = ["TENANT", "WEIGHT", "BACKLOG", "ACTIVE", "DISPATCHED", "ENTITLED", "ACTUAL", ""];
    let mut table = Table::new(&header).numbers_in(1..7).hide_first([7, 2, 4, 3, 1]);
    let shares = tenants.iter().flat_map(|tenant| [tenant.entitled_share, tenant.actual_share]);
    let most = shares.fold(0.0, f64::max);
    for tenant in tenants {
        let weight = tenant.effective_weight.or(tenant.weight);
        let bar = bar(tenant.actual_share, tenant.entitled_share, most);
        let note = if tenant.throttled { "  throttled" } else { "" };
        table.row(vec![
            tenant.tenant_id.clone(),
            weight.map(decimal).unwrap_or_default(),
            tenant.backlog.to_string(),
            tenant.active.to_string(),
            tenant.dispatched_1m.to_string(),
            percent(tenant.entitled_share),
            percent(tenant.actual_share),
            format!("{bar}{note}"),
        ]);
    }
    table.finish()
}

fn queues(stats: &SchedulingStats) -> String {
    let mut header = vec!["QUEUE", "DISPATCHED", "SHARE", "ACTIVE", "AVERAGE WAIT", ""];
    // Only if queues belong to tenants, and names may repeat.
    let by_tenant = stats.queues.iter().any(|queue| queue.tenant_id.is_some());
    if by_tenant {
        header.insert(1, "TENANT");
    }
    let first = 1 + usize::from(by_tenant);
    let mut table =
        Table::new(&header).numbers_in(first..first + 4).hide_first([first + 2, first + 3]);
    for queue in &stats.queues {
        let mut cells = vec![queue.name.clone()];
        if by_tenant {
            cells.push(queue.tenant_id.clone().unwrap_or_else(|| "-".to_owned()));
        }
        cells.extend([
            queue.dispatch_count_1m.to_string(),
            percent(queue.dispatch_ratio_1m),
            queue.active_jobs.to_string(),
            queue.avg_wait_ms.map_or_else(|| "-".to_owned(), milliseconds),
            if queue.starved { "starved".to_owned() } else { String::new() },
        ]);
        table.row(cells);
    }
    table.finish()
}
