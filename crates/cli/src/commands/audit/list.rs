//! `rota audit list`: shows entries, and follows new ones.

use std::time::Duration;

use clap::Args;
use rota_client::{AuditEntry, AuditFilter, Client, PageAt};
use serde_json::Value;

use crate::Failure;
use crate::commands::jobs::time_or_ago;
use crate::commands::number::between;
use crate::output::{List, Table, print, print_json, printable};
use crate::remote::Remote;
use crate::signals::Signals;

const EXAMPLES: &str = "\
Examples:
  rota audit list                              the last 100 entries
  rota audit list --action queue --since 2h    what was done to queues
  rota audit list --outcome failure --subject acme
  rota audit list --tenant acme --json | jq '.entries[].event_type'
  rota audit list --follow                     new entries as they are written, until Ctrl-C

Repeated refusals are one entry per minute (`audit.interval`), with their number in `count`. With
--json, a list is one document, and --follow prints one entry per line.";

const LONGEST_PAGE: u32 = 1_000;
/// How often new entries are looked for.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Entries since: a time, or how long ago, such as 2h
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    since: Option<String>,

    /// Entries before: a time, or how long ago
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    until: Option<String>,

    /// Entries of this principal: the subject of a credential, a tenant, or `operator`
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,

    /// Entries of this event type; `queue` includes queue.pause
    #[arg(long, value_name = "EVENT")]
    action: Option<String>,

    /// Entries with this outcome
    #[arg(long, value_name = "OUTCOME", value_parser = ["success", "failure"])]
    outcome: Option<String>,

    /// Maximum number of entries to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100,
          value_parser = between(1_u64, 1_000_000))]
    limit: u64,

    /// Wait for more entries, until Ctrl-C
    #[arg(long, short, conflicts_with = "until")]
    follow: bool,

    #[command(flatten)]
    remote: Remote,
}

impl ListArgs {
    pub async fn run(self) -> Result<(), Failure> {
        let (follow, json, limit) = (self.follow, self.remote.json, self.limit);
        // The tenant selects entries; it is the operator, or the tenant by its credentials, who asks.
        let tenant = self.remote.tenant.clone();
        let client = Remote { tenant: None, ..self.remote }.client()?;
        let filter = AuditFilter {
            since: self.since,
            until: self.until,
            subject: self.subject,
            tenant,
            action: self.action,
            outcome: self.outcome,
            oldest_first: false,
        };
        if follow {
            let mut ended = Signals::listen()?;
            return tokio::select! {
                outcome = watch(&client, filter, limit, json) => outcome,
                () = ended.next() => Ok(()),
            };
        }
        let list = List {
            name: "entries",
            as_json: json,
            most: Some(limit),
            longest_page: LONGEST_PAGE,
            cursor: None,
            table: new_table(),
            tenants_in: None,
            if_empty: "no entries match",
            if_more: "there are more entries; --limit shows them",
        };
        let page = async |limit: u32, at: Option<&PageAt>| {
            client.audit_log(&filter, limit, at).await.map(|answer| answer.page)
        };
        list.print(cells, page).await
    }
}

/// Prints the last entries, oldest first, and then those that follow.
async fn watch(
    client: &Client,
    filter: AuditFilter,
    limit: u64,
    as_json: bool,
) -> Result<(), Failure> {
    let mut table = new_table();
    let page_limit = u32::try_from(limit).unwrap_or(LONGEST_PAGE).min(LONGEST_PAGE);
    let newest = client.audit_log(&filter, page_limit, None).await?;
    let mut cursor = newest.first_cursor;
    let mut shown = newest.page.items;
    shown.reverse();
    let forward = AuditFilter { oldest_first: true, ..filter };
    loop {
        for entry in &shown {
            if as_json {
                print_json(entry)?;
            } else {
                table.row(cells(entry));
            }
        }
        print(&table.take())?;
        let at = cursor.clone().map(PageAt::Cursor);
        let answer = client.audit_log(&forward, LONGEST_PAGE, at.as_ref()).await?;
        shown = answer.page.items;
        match (answer.page.next, answer.last_cursor) {
            (Some(PageAt::Cursor(next)), _) => cursor = Some(next),
            (_, Some(last)) => {
                cursor = Some(last);
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            _ => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

fn new_table() -> Table {
    Table::new(&["TIME", "WHO", "FROM", "EVENT", "OUTCOME", "ABOUT"]).with_text()
}

fn cells(entry: &AuditEntry) -> Vec<String> {
    let who = match &entry.tenant_id {
        Some(tenant) if *tenant != entry.principal => format!("{} ({tenant})", entry.principal),
        _ => entry.principal.clone(),
    };
    vec![
        entry.timestamp.clone(),
        printable(&who),
        entry.source_ip.clone().unwrap_or_default(),
        entry.event_type.clone(),
        entry.outcome.clone(),
        printable(&about(entry)),
    ]
}

/// `reports (POST /ojs/v1/queues/{name}/pause) reason=... count=3`.
fn about(entry: &AuditEntry) -> String {
    let text = |name: &str| entry.detail.get(name).and_then(Value::as_str);
    let mut parts: Vec<String> = text("resource").into_iter().map(str::to_owned).collect();
    if let (Some(method), Some(route)) = (text("method"), text("route")) {
        parts.push(format!("({method} {route})"));
    }
    for name in ["reason", "enabled", "jobs", "count", "status"] {
        match entry.detail.get(name) {
            Some(Value::String(text)) => parts.push(format!("{name}={text:?}")),
            Some(value) => parts.push(format!("{name}={value}")),
            None => {}
        }
    }
    parts.join(" ")
}
