//! `rota cron`: recurring jobs.

use clap::{Args, Subcommand};
use rota_client::{Client, Cron, NewCron};

use super::job_options::JobOptions;
use crate::Failure;
use crate::output::{List, Table, each, moment, print, print_json, print_line, relative};
use crate::remote::Remote;

const LONGEST_PAGE: u32 = 1_000;

const EXAMPLES: &str = "\
Examples:
  rota cron                                    all schedules and their next runs
  rota cron add nightly-report '0 2 * * *' report.build --timezone Europe/Berlin
  rota cron disable nightly-report             keep it, but let it not run";

const LIST_EXAMPLES: &str = "\
Examples:
  rota cron list
  rota cron list --json | jq -r '.crons[] | select(.enabled) | .name'";

const ADD_EXAMPLES: &str = "\
Examples:
  rota cron add nightly-report '0 2 * * *' report.build --timezone Europe/Berlin
  rota cron add poll '@every 30s' feed.poll --args '[\"news\"]' --queue feeds
  rota cron add sync '*/5 * * * *' crm.sync --overlap allow --max-attempts 1

A schedule of the same name is replaced. An expression has 5 fields (minute, hour, day, month,
weekday), or 6 with seconds first, or is @hourly, @daily, @weekly, @monthly, @yearly, @every 1h30m.";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota cron show nightly-report";

const REMOVE_EXAMPLES: &str = "\
Examples:
  rota cron remove nightly-report              runs that are enqueued already stay";

const ENABLE_EXAMPLES: &str = "\
Examples:
  rota cron enable nightly-report              missed runs are not made up for";

const DISABLE_EXAMPLES: &str = "\
Examples:
  rota cron disable nightly-report";

/// List, add and remove recurring jobs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Crons {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all schedules
    #[command(after_help = LIST_EXAMPLES)]
    List,

    /// Add or replace a schedule
    #[command(after_help = ADD_EXAMPLES)]
    Add(Box<Add>),

    /// Show all about a schedule
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[arg(value_name = "NAME")]
        name: String,
    },

    /// Remove schedules
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove(Names),

    /// Let schedules run again
    #[command(after_help = ENABLE_EXAMPLES)]
    Enable(Names),

    /// Let schedules not run
    #[command(after_help = DISABLE_EXAMPLES)]
    Disable(Names),
}

#[derive(Debug, Args)]
struct Names {
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

#[derive(Debug, Args)]
struct Add {
    /// The schedule's name
    name: String,

    /// When it runs, such as '0 2 * * *'
    expression: String,

    /// The type of its jobs, such as report.build
    #[arg(value_name = "TYPE")]
    kind: String,

    /// Such as Europe/Berlin; UTC unless told
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,

    /// What happens when an earlier run is not finished; skip unless told
    #[arg(long, value_parser = ["skip", "allow", "cancel_previous", "enqueue"])]
    overlap: Option<String>,

    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Do not let it run yet
    #[arg(long)]
    disabled: bool,

    #[command(flatten)]
    job: JobOptions,
}

impl Crons {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        match self.action.unwrap_or(Action::List) {
            Action::List => list(&client, json).await,
            Action::Add(add) => add.run(&client, json).await,
            Action::Show { name } => {
                let cron = client.cron(&name).await?;
                if json { print_json(&cron) } else { print(&describe(&cron)) }
            }
            Action::Remove(Names { names }) => {
                let act = async |name: &str| client.delete_cron(name).await;
                each(&names, "removed", "crons", json, act).await
            }
            Action::Enable(Names { names }) => {
                let act = async |name: &str| client.enable_cron(name, true).await;
                each(&names, "enabled", "crons", json, act).await
            }
            Action::Disable(Names { names }) => {
                let act = async |name: &str| client.enable_cron(name, false).await;
                each(&names, "disabled", "crons", json, act).await
            }
        }
    }
}

impl Add {
    async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
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
            false => print_line(&format!("added {}, {}", cron.name, next_run(&cron, moment))),
        }
    }
}

async fn list(client: &Client, as_json: bool) -> Result<(), Failure> {
    let header = ["NAME", "EXPRESSION", "ZONE", "TYPE", "QUEUE", "RUNS", "LAST", "NEXT"];
    let list = List {
        name: "crons",
        as_json,
        most: None,
        longest_page: LONGEST_PAGE,
        cursor: None,
        table: Table::new(&header).numbers_in([5]),
        if_empty: "no schedules; `rota cron add --help` shows how to add one",
        if_more: "",
    };
    list.print(cells, async |limit, at| client.crons(limit, at).await).await
}

fn cells(cron: &Cron) -> Vec<String> {
    let (kind, queue) = job(cron);
    vec![
        cron.name.clone(),
        cron.expression.clone(),
        cron.timezone.clone().unwrap_or_default(),
        kind,
        queue,
        cron.run_count.to_string(),
        cron.last_run_at.as_deref().map_or_else(|| "never".to_owned(), relative),
        match &cron.next_run_at {
            Some(time) if cron.enabled => relative(time),
            Some(_) => "disabled".to_owned(),
            None if cron.enabled => "never".to_owned(),
            None => "disabled".to_owned(),
        },
    ]
}

/// Type and queue of its jobs.
fn job(cron: &Cron) -> (String, String) {
    let template = cron.job_template.as_ref();
    let kind = template.map(|job| job.kind.clone()).unwrap_or_default();
    let queue = template.and_then(|job| job.queue.clone());
    (kind, queue.unwrap_or_else(|| "default".to_owned()))
}

fn next_run(cron: &Cron, shown: fn(&str) -> String) -> String {
    match &cron.next_run_at {
        _ if !cron.enabled => "disabled".to_owned(),
        Some(time) => format!("next run {}", shown(time)),
        None => "no next run".to_owned(),
    }
}

fn describe(cron: &Cron) -> String {
    let (kind, queue) = job(cron);
    let mut table = Table::of_fields();
    table.field("name", &cron.name);
    table.field_if("description", cron.description.as_ref().map(|text| text.get()));
    table.field("expression", &cron.expression);
    table.field_if("timezone", cron.timezone.as_ref());
    table.field_if("overlap", cron.overlap_policy.as_ref());
    table.field("enabled", if cron.enabled { "yes" } else { "no" });
    table.field("type", kind);
    table.field("queue", queue);
    let args = cron.job_template.as_ref().and_then(|job| job.args.as_ref());
    table.field_if("args", args.map(|args| args.get()));
    table.field("runs", cron.run_count.to_string());
    table.field_if("last run", cron.last_run_at.as_deref().map(moment));
    table.field_if("next run", cron.next_run_at.as_deref().map(moment));
    table.field_if("created", cron.created_at.as_deref().map(moment));
    table.take()
}
