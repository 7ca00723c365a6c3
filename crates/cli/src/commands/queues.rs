//! `rota queues`: how much waits where, and stopping it.

use clap::{Args, Subcommand};
use rota_client::{Client, Queue, QueueStats};

use crate::Failure;
use crate::output::{List, Table, each, milliseconds, print, print_json};
use crate::remote::Remote;

const LONGEST_PAGE: u32 = 200;

const EXAMPLES: &str = "\
Examples:
  rota queues                                  all queues and their jobs by state
  rota queues stats email                      the last hour of one
  rota queues pause email                      hand out no more of its jobs";

const LIST_EXAMPLES: &str = "\
Examples:
  rota queues list
  rota queues list --json | jq -r '.queues[] | select(.available > 1000) | .name'";

const STATS_EXAMPLES: &str = "\
Examples:
  rota queues stats email
  rota queues stats email --json | jq .stats.avg_wait_ms";

const PAUSE_EXAMPLES: &str = "\
Examples:
  rota queues pause email reports

A paused queue accepts jobs and hands out none. Jobs that run go on. It stays paused until it is
resumed, also over a restart of the server. A queue that does not exist yet is made, and paused.";

const RESUME_EXAMPLES: &str = "\
Examples:
  rota queues resume email reports";

/// List, measure, pause and resume queues
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Queues {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all queues
    #[command(after_help = LIST_EXAMPLES)]
    List,

    /// Show what happened in a queue during the last hour
    #[command(after_help = STATS_EXAMPLES)]
    Stats {
        #[arg(value_name = "QUEUE")]
        name: String,
    },

    /// Hand out no more jobs of queues
    #[command(after_help = PAUSE_EXAMPLES)]
    Pause {
        #[arg(value_name = "QUEUE", required = true)]
        names: Vec<String>,
    },

    /// Hand out jobs of queues again
    #[command(after_help = RESUME_EXAMPLES)]
    Resume {
        #[arg(value_name = "QUEUE", required = true)]
        names: Vec<String>,
    },
}

impl Queues {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        match self.action.unwrap_or(Action::List) {
            Action::List => list(&client, json).await,
            Action::Stats { name } => {
                let stats = client.queue_stats(&name).await?;
                if json { print_json(&stats) } else { print(&describe(&stats)) }
            }
            Action::Pause { names } => {
                each(&names, "paused", "queues", json, async |name| client.pause(name).await).await
            }
            Action::Resume { names } => {
                each(&names, "resumed", "queues", json, async |name| client.resume(name).await)
                    .await
            }
        }
    }
}

async fn list(client: &Client, as_json: bool) -> Result<(), Failure> {
    let header = [
        "QUEUE",
        "STATUS",
        "AVAILABLE",
        "ACTIVE",
        "SCHEDULED",
        "RETRYABLE",
        "PENDING",
        "COMPLETED",
        "CANCELLED",
        "DISCARDED",
    ];
    let list = List {
        name: "queues",
        as_json,
        most: None,
        longest_page: LONGEST_PAGE,
        cursor: None,
        table: Table::new(&header).numbers_in(2..header.len()),
        if_empty: "no queues yet; the first job of a queue makes it",
        if_more: "",
    };
    list.print(cells, async |limit, at| client.queues(limit, at).await).await
}

fn cells(queue: &Queue) -> Vec<String> {
    let counts = &queue.counts;
    let numbers = [
        counts.available,
        counts.active,
        counts.scheduled,
        counts.retryable,
        counts.pending,
        counts.completed,
        counts.cancelled,
        counts.discarded,
    ];
    let names = [queue.name.clone(), queue.status.clone()];
    names.into_iter().chain(numbers.map(|count| count.to_string())).collect()
}

fn describe(queue: &QueueStats) -> String {
    let (stats, counts) = (&queue.stats, &queue.stats.counts);
    let mut table = Table::of_fields();
    table.field("queue", &queue.name);
    table.field("status", &queue.status);
    let states = [
        ("available", counts.available),
        ("active", counts.active),
        ("scheduled", counts.scheduled),
        ("retryable", counts.retryable),
        ("pending", counts.pending),
        ("completed", counts.completed),
        ("cancelled", counts.cancelled),
        ("discarded", counts.discarded),
    ];
    for (name, count) in states {
        table.field(name, count.to_string());
    }
    let mut hour = Table::of_fields();
    hour.field_if("  enqueued", stats.enqueued_last_hour.map(|count| count.to_string()));
    hour.field_if("  completed", stats.completed_last_hour.map(|count| count.to_string()));
    hour.field_if("  failed attempts", stats.failed_last_hour.map(|count| count.to_string()));
    hour.field_if("  average wait", stats.avg_wait_ms.map(milliseconds));
    hour.field_if("  average run", stats.avg_duration_ms.map(milliseconds));
    format!("{}\nlast hour\n{}", table.take(), hour.take())
}
