//! `rota jobs list`: lists jobs.

use clap::Args;
use rota_client::{Client, Error, Job, JobFilter, Page, PageAt, WithJson};

use super::filter::{FilterArgs, StateArgs};
use crate::Failure;
use crate::commands::number::at_least;
use crate::output::{List, Table, relative};

const DEFAULT_LIMIT: u64 = 20;
const LONGEST_PAGE: u32 = 100;
const HEADER: [&str; 8] =
    ["ID", "TYPE", "TENANT", "QUEUE", "STATE", "ATTEMPT", "CREATED", "DETAIL"];

/// Which jobs to list, and how many.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub state: StateArgs,

    #[command(flatten)]
    pub filter: FilterArgs,

    #[command(flatten)]
    pub extent: Extent,
}

/// How much of a list to show.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct Extent {
    /// Maximum number of jobs; default 20
    #[arg(long, value_name = "N", value_parser = at_least(1_u64))]
    limit: Option<u64>,

    /// Show all jobs
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Show the oldest first
    #[arg(long)]
    oldest_first: bool,

    /// Continue a previous list at its `next_cursor`
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl ListArgs {
    pub async fn print(self, client: &Client, as_json: bool) -> Result<(), Failure> {
        let filter = self.filter.filter(&self.state);
        print_jobs(
            self.extent,
            filter,
            as_json,
            "no jobs match; `rota jobs list --help` has the filters",
            async |filter, limit, at| client.jobs(filter, limit, at).await,
        )
        .await
    }
}

/// Prints a list of jobs from any source.
pub(crate) async fn print_jobs(
    extent: Extent,
    filter: JobFilter,
    as_json: bool,
    if_empty: &str,
    page_at: impl AsyncFn(&JobFilter, u32, Option<&PageAt>) -> Result<Page<WithJson<Job>>, Error>,
) -> Result<(), Failure> {
    let filter = JobFilter { oldest_first: extent.oldest_first, ..filter };
    let list = List {
        name: "jobs",
        as_json,
        most: (!extent.all).then_some(extent.limit.unwrap_or(DEFAULT_LIMIT)),
        longest_page: LONGEST_PAGE,
        cursor: extent.cursor,
        table: Table::new(&HEADER).numbers_in([5]).hide_first([5, 6, 3, 2]).with_text(),
        tenants_in: Some(2),
        if_empty,
        if_more: "there are more; --limit N shows more of them, --all shows all",
    };
    list.print(cells, async |limit, at| page_at(&filter, limit, at).await).await
}

fn cells(job: &Job) -> Vec<String> {
    let attempt = match job.max_attempts {
        Some(most) => format!("{}/{most}", job.attempt),
        None => job.attempt.to_string(),
    };
    let created = job.created_at.as_deref().map(relative).unwrap_or_default();
    vec![
        job.id.clone(),
        job.kind.clone(),
        job.tenant().unwrap_or_else(|| "-".to_owned()),
        job.queue.clone(),
        job.state.clone(),
        attempt,
        created,
        detail(job),
    ]
}

/// The most relevant detail for the job's state.
fn detail(job: &Job) -> String {
    let at = |time: &Option<String>| time.as_deref().map(relative).unwrap_or_default();
    let error = job.error.as_ref().map(|error| {
        let first_line = error.message.lines().next().unwrap_or_default();
        format!(": {}", shortened(first_line))
    });
    let error = error.unwrap_or_default();
    match &*job.state {
        "scheduled" => format!("due {}", at(&job.scheduled_at)),
        "retryable" => format!("again {}{error}", at(&job.next_attempt_at)),
        "active" => {
            let worker = job.worker_id.as_ref().map(|id| format!(" by {id}")).unwrap_or_default();
            format!("started {}{worker}", at(&job.started_at))
        }
        "completed" => format!("ended {}", at(&job.completed_at)),
        "cancelled" => format!("ended {}", at(&job.cancelled_at)),
        "discarded" if job.expired_at.is_some() => format!("expired {}", at(&job.expired_at)),
        "discarded" => format!("failed {}{error}", at(&job.discarded_at)),
        _ => String::new(),
    }
}

fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
