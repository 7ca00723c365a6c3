//! `rota dead-letter purge`: deletes jobs by queue or age.

use clap::Args;
use rota_client::Client;
use serde_json::json;

use crate::Failure;
use crate::commands::confirm::Confirm;
use crate::commands::jobs::time_or_ago;
use crate::output::{plural, print_json, print_line};

const EXAMPLES: &str = "\
Examples:
  rota dead-letter purge --queue email --older-than 30d --yes
  rota dead-letter purge                       says what it would delete, and asks";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Purge {
    /// Only jobs of this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,

    /// Only jobs that failed before this: a time, or how long ago, such as 30d
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    older_than: Option<String>,

    #[command(flatten)]
    confirm: Confirm,
}

impl Purge {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let stats = client.dead_letter_stats().await?;
        let (count, place) = match &self.queue {
            Some(queue) => {
                (stats.by_queue.get(queue).copied().unwrap_or(0), format!(" of queue {queue}"))
            }
            None => (stats.total, String::new()),
        };
        let jobs = plural(count, "job", "jobs");
        self.confirm.ask(&match &self.older_than {
            Some(time) => {
                format!(
                    "delete those of {jobs} in the dead letter{place} that failed before {time}"
                )
            }
            None => format!("delete {jobs} in the dead letter{place}"),
        })?;
        let purged =
            client.purge_dead_letters(self.queue.as_deref(), self.older_than.as_deref()).await?;
        match json {
            true => print_json(&json!({"deleted": purged.purged_count, "failed": purged.failed})),
            false => print_line(&format!("deleted {}", plural(purged.purged_count, "job", "jobs"))),
        }
    }
}
