//! `rota explain`: shows why a job has not started.

use clap::Args;
use rota_client::{ExplainedLimit, ExplainedTenant, Explanation, Position};
use serde_json::Value;

use super::rate::short;
use crate::Failure;
use crate::hints::in_commands;
use crate::output::{
    Table, decimal, moment, paragraph, percent, plural, print, print_json, printable, relative,
};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota explain 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7     why it waits, and until when
  rota explain 01a1e0cc-0605-7dce-9c50-9ef3db55d8c7 --json | jq -r '.reasons[].code'";

/// Show why a job has not started, and when it will
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// The job's id
    #[arg(value_name = "JOB", value_parser = crate::commands::named)]
    id: String,

    #[command(flatten)]
    remote: Remote,
}

impl Explain {
    pub async fn run(self) -> Result<(), Failure> {
        let explanation = self.remote.client()?.explain(&self.id).await?;
        match self.remote.json {
            true => print_json(&explanation),
            false => print(&describe(&explanation)),
        }
    }
}

fn describe(why: &Explanation) -> String {
    let parts = [
        format!("{}\n", paragraph(&printable(&in_commands(&why.summary)))),
        reasons(why),
        facts(why),
        limits(why),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn reasons(why: &Explanation) -> String {
    let mut table = Table::of_fields();
    for reason in &why.reasons {
        table.field(&reason.code, in_commands(&reason.message));
    }
    table.take()
}

fn facts(why: &Explanation) -> String {
    let mut table = Table::of_fields();
    table.field_if("state", why.state.as_ref());
    table.field_if("place in line", why.position.as_ref().and_then(place));
    table.field_if("earliest start", why.earliest_start.as_deref().map(moment));
    table.field_if("tenant", why.tenant.as_ref().map(tenant));
    table.field_if(
        "queue",
        why.queue.as_ref().map(|queue| {
            let paused = if queue.paused { ", paused" } else { "" };
            let waiting = queue
                .workers_waiting
                .map(|count| format!(", {}", plural(count, "worker waits", "workers wait")));
            format!("{}{paused}{}", queue.name, waiting.unwrap_or_default())
        }),
    );
    table.take()
}

/// `3 in its lane, 3 of its tenant, 12 jobs ahead`.
fn place(position: &Position) -> Option<String> {
    let parts = [
        position.in_lane.map(|place| format!("{place} in its lane")),
        position.of_tenant.map(|place| format!("{place} of its tenant")),
        position.jobs_ahead.map(|count| format!("{} ahead", plural(count, "job", "jobs"))),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// `acme, weight 5, share 32.0%, 8 of 10 active`.
fn tenant(tenant: &ExplainedTenant) -> String {
    let parts = [
        Some(tenant.id.clone()),
        tenant.weight.map(|weight| format!("weight {}", decimal(weight))),
        tenant.share.map(|share| format!("share {}", percent(share))),
        tenant.active.map(|active| match tenant.max_concurrency {
            Some(most) => format!("{active} of {most} active"),
            None => format!("{active} active"),
        }),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn limits(why: &Explanation) -> String {
    let mut table =
        Table::new(&["LIMIT", "KIND", "USED", "OF", "OPENS"]).numbers_in([2, 3]).hide_first([1]);
    for limit in &why.limits {
        table.row(vec![
            limit.key.clone(),
            limit.strategy.clone().unwrap_or_default(),
            limit.current.map_or_else(|| "-".to_owned(), decimal),
            most(limit),
            limit.opens_at.as_deref().map_or_else(|| "-".to_owned(), relative),
        ]);
    }
    table.finish()
}

fn most(limit: &ExplainedLimit) -> String {
    match &limit.limit {
        Value::Null => "-".to_owned(),
        Value::Object(rate) => {
            let count = rate.get("limit").map(ToString::to_string).unwrap_or_default();
            let period = rate.get("period").and_then(Value::as_str).map(short);
            period.map_or(count.clone(), |period| format!("{count}/{period}"))
        }
        number => number.to_string(),
    }
}
