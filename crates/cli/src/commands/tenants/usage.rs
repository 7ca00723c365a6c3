//! `rota tenants usage`: shows a tenant's usage per hour or day.

use clap::{Args, ValueEnum};
use rota_client::{Client, TenantUsage, UsageQuery, Used};

use crate::Failure;
use crate::commands::jobs::time_or_ago;
use crate::commands::named;
use crate::output::{Table, grouped, milliseconds, print, print_json, remark};

const EXAMPLES: &str = "\
Examples:
  rota tenants usage acme                      the last 24 hours, hour by hour
  rota tenants usage acme --per day            the last 30 days
  rota tenants usage acme --per day --from 2026-10-01T00:00:00Z --to 2026-11-01T00:00:00Z
  rota tenants usage acme --json | jq .total

Hours and days begin in UTC. Periods in which nothing happened are left out.";

/// More than a server keeps.
const ALL: u32 = 10_000;

/// Show a tenant's usage per hour or day
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct UsageArgs {
    #[arg(value_name = "ID", value_parser = named)]
    id: String,

    /// Length of a period
    #[arg(long, value_enum, default_value_t = Per::Hour)]
    per: Per,

    /// Start of the range: a time such as 2026-11-15T12:00:00Z, or 7d for seven days ago
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    from: Option<String>,

    /// End of the range: only periods that begin before it
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    to: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Per {
    Hour,
    Day,
}

impl UsageArgs {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let per = match self.per {
            Per::Hour => "hour",
            Per::Day => "day",
        };
        let query = UsageQuery {
            per: Some(per.to_owned()),
            from: self.from,
            to: self.to,
            per_page: Some(ALL),
            page: None,
        };
        let usage = client.tenant_usage(&self.id, &query).await?;
        if json {
            return print_json(&usage);
        }
        if usage.items.is_empty() {
            remark(&format!("nothing was used from {} to {}", usage.from, usage.to));
            return Ok(());
        }
        print(&table(&usage))
    }
}

fn table(usage: &TenantUsage) -> String {
    let header = [
        if usage.per == "day" { "DAY" } else { "HOUR" },
        "ENQUEUED",
        "STARTED",
        "COMPLETED",
        "FAILED",
        "DISCARDED",
        "RUN TIME",
        "ACCEPTED",
    ];
    let mut table = Table::new(&header).numbers_in(1..header.len()).hide_first([7, 2, 4, 5, 6]);
    for item in &usage.items {
        table.row(cells(period(&usage.per, &item.from), &item.used));
    }
    table.row(cells("total".to_owned(), &usage.total));
    table.finish()
}

fn cells(name: String, used: &Used) -> Vec<String> {
    let jobs = used.jobs;
    let counts = [jobs.enqueued, jobs.started, jobs.completed, jobs.failed, jobs.discarded];
    let rest = [milliseconds(used.run_time_ms as f64), bytes(used.accepted_bytes)];
    [name].into_iter().chain(counts.map(grouped)).chain(rest).collect()
}

/// `2026-11-15`, `2026-11-15 14:00`; anything that is not a time is shown unchanged.
fn period(per: &str, from: &str) -> String {
    let (date, time) = from.split_once('T').unwrap_or((from, ""));
    match time.get(..5) {
        Some(time) if per != "day" => format!("{date} {time}"),
        _ => date.to_owned(),
    }
}

/// `512 B`, `1.5 KiB`, `20 GiB`.
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 1_024.0 && unit + 1 < UNITS.len() {
        (size, unit) = (size / 1_024.0, unit + 1);
    }
    let digits = usize::from(unit > 0 && size < 10.0);
    format!("{size:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_periods_are_short() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(bytes(20 << 30), "20 GiB");
        assert_eq!(period("hour", "2026-11-15T14:00:00.000Z"), "2026-11-15 14:00");
        assert_eq!(period("day", "2026-11-15T00:00:00.000Z"), "2026-11-15");
        assert_eq!(period("day", "soon"), "soon");
    }
}
