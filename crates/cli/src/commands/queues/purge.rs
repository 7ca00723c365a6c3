//! `rota queues purge`: deletes jobs of a queue.

use clap::Args;
use rota_client::Client;
use serde_json::json;

use crate::Failure;
use crate::commands::confirm::Confirm;
use crate::commands::jobs::time_or_ago;
use crate::commands::named;
use crate::output::{plural, print_json, print_line};

const EXAMPLES: &str = "\
Examples:
  rota queues purge email                      the jobs that wait; asks first
  rota queues purge email --state scheduled --state retryable --yes
  rota queues purge email --state completed --older-than 7d --yes

Active jobs are left alone; cancel them with `rota jobs cancel --queue NAME --state active`.";

/// Active jobs cannot be deleted.
const STATES: [&str; 7] =
    ["available", "scheduled", "retryable", "pending", "completed", "cancelled", "discarded"];
const WAITING: &[&str] = &["available", "scheduled", "retryable", "pending"];

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Purge {
    #[arg(value_name = "QUEUE", value_parser = named)]
    name: String,

    /// Jobs in this state; repeatable. Default: available, scheduled, retryable and pending
    #[arg(long, value_name = "STATE", value_parser = STATES)]
    state: Vec<String>,

    /// Only jobs created before this: a time, or how long ago, such as 7d
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    older_than: Option<String>,

    #[command(flatten)]
    confirm: Confirm,
}

impl Purge {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let states = match self.state.is_empty() {
            true => WAITING.iter().map(|state| (*state).to_owned()).collect(),
            false => self.state,
        };
        let age = self.older_than.as_ref().map(|time| format!(" created before {time}"));
        self.confirm.ask(&format!(
            "delete all jobs of the queue {} that are {}{}",
            self.name,
            states.join(", "),
            age.unwrap_or_default()
        ))?;
        let purged = client.purge_queue(&self.name, &states, self.older_than.as_deref()).await?;
        match json {
            true => print_json(&json!({"deleted": purged.purged_count, "failed": purged.failed}))?,
            false => {
                print_line(&format!("deleted {}", plural(purged.purged_count, "job", "jobs")))?
            }
        }
        match purged.failed {
            0 => Ok(()),
            failed => Err(Failure::error(format!(
                "{} could not be deleted",
                plural(failed, "job", "jobs")
            ))
            .hint("They have changed meanwhile. Repeat it to delete those that still match.")),
        }
    }
}
