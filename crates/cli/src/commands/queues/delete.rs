//! `rota queues delete`: deletes a queue.

use clap::Args;
use rota_client::Client;

use crate::Failure;
use crate::commands::confirm::{Confirm, keeps_jobs};
use crate::commands::named;
use crate::output::{plural, print_json, print_line};

const EXAMPLES: &str = "\
Examples:
  rota queues delete email                     rejected while it has unfinished jobs
  rota queues delete email --purge --yes       deletes these too; those that run are cancelled

Its settings, pauses, rate limit and statistics go with it. Finished jobs stay until their retention
ends. A job that is enqueued for it later makes the queue again.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Delete {
    #[arg(value_name = "QUEUE", value_parser = named)]
    name: String,

    /// Also delete its jobs
    #[arg(long)]
    purge: bool,

    #[command(flatten)]
    confirm: Confirm,
}

impl Delete {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let name = &self.name;
        if self.purge {
            let jobs = client.queue_stats(name).await?.stats.counts.clone();
            let waiting = jobs.available + jobs.scheduled + jobs.retryable + jobs.pending;
            self.confirm.ask(&format!(
                "delete the queue {name} with {} that wait, and cancel {}",
                plural(waiting, "job", "jobs"),
                plural(jobs.active, "job that runs", "jobs that run"),
            ))?;
        } else {
            self.confirm.ask(&format!("delete the queue {name} with what is configured for it"))?;
        }
        let deleted =
            client.delete_queue(name, self.purge).await.map_err(|e| keeps_jobs(e, "queue"))?;
        match json {
            true => print_json(&deleted),
            false if self.purge => {
                let jobs = plural(deleted.purged_jobs, "job", "jobs");
                print_line(&format!("{name} deleted, with {jobs}"))
            }
            false => print_line(&format!("{name} deleted")),
        }
    }
}
