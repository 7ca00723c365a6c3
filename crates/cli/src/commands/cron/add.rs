//! `rota cron add`: adds or replaces a schedule.

use clap::Args;
use rota_client::{Client, Cron, NewCron};

use crate::Failure;
use crate::commands::job_options::JobOptions;
use crate::output::{moment, print_json, print_line};

const EXAMPLES: &str = "\
Examples:
  rota cron add nightly-report '0 2 * * *' report.build --timezone Europe/Berlin
  rota cron add poll '@every 30s' feed.poll --args '[\"news\"]' --queue feeds
  rota cron add sync '*/5 * * * *' crm.sync --overlap allow --max-attempts 1

A schedule of the same name is replaced. An expression has 5 fields (minute, hour, day, month,
weekday), or 6 with seconds first, or is @hourly, @daily, @weekly, @monthly, @yearly, @every 1h30m.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Add {
    /// The schedule's name
    name: String,

    /// When it runs, such as '0 2 * * *'
    expression: String,

    /// The type of its jobs, such as report.build
    #[arg(value_name = "TYPE")]
    kind: String,

    /// Time zone, such as Europe/Berlin; default UTC
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,

    /// What to do if an earlier run is unfinished; default skip
    #[arg(long, value_parser = ["skip", "allow", "cancel_previous", "enqueue"])]
    overlap: Option<String>,

    /// A description
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Add it disabled
    #[arg(long)]
    disabled: bool,

    #[command(flatten)]
    job: JobOptions,
}

impl Add {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let cron = NewCron {
            timezone: self.timezone,
            overlap_policy: self.overlap,
            enabled: !self.disabled,
            description: self.description,
            ..NewCron::new(self.name, self.expression, self.job.job(&self.kind))
        };
        let cron = client.register_cron(&cron).await?;
        match json {
            true => print_json(&cron),
            false => print_line(&format!("added {}, {}", cron.name, next_run(&cron))),
        }
    }
}

fn next_run(cron: &Cron) -> String {
    match &cron.next_run_at {
        _ if !cron.enabled => "disabled".to_owned(),
        Some(time) => format!("next run {}", moment(time)),
        None => "no next run".to_owned(),
    }
}
