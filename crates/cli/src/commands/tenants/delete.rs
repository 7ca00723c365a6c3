//! `rota tenants delete`: deletes a tenant.

use clap::Args;
use rota_client::Client;

use crate::Failure;
use crate::commands::confirm::{Confirm, keeps_jobs};
use crate::commands::named;
use crate::output::{plural, print_json, print_line};

const EXAMPLES: &str = "\
Examples:
  rota tenants delete acme                     rejected while it has unfinished jobs
  rota tenants delete acme --purge --yes       deletes these too; those that run are cancelled

The defaults count for a tenant that was deleted and comes back.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Delete {
    #[arg(value_name = "ID", value_parser = named)]
    id: String,

    /// Also delete its jobs
    #[arg(long)]
    purge: bool,

    #[command(flatten)]
    confirm: Confirm,
}

impl Delete {
    pub async fn run(self, client: &Client, json: bool) -> Result<(), Failure> {
        let id = &self.id;
        if self.purge {
            let jobs = client.tenant_stats(id).await?.jobs.clone();
            let waiting = jobs.available + jobs.scheduled + jobs.retryable + jobs.pending;
            self.confirm.ask(&format!(
                "delete the tenant {id} with {} that wait, and cancel {}",
                plural(waiting, "job", "jobs"),
                plural(jobs.active, "job that runs", "jobs that run"),
            ))?;
        } else {
            self.confirm.ask(&format!("delete what is configured for the tenant {id}"))?;
        }
        let deleted =
            client.delete_tenant(id, self.purge).await.map_err(|e| keeps_jobs(e, "tenant"))?;
        match json {
            true => print_json(&deleted),
            false if self.purge => {
                let jobs = plural(deleted.purged_jobs, "job", "jobs");
                print_line(&format!("{id} deleted, with {jobs}"))
            }
            false => print_line(&format!("{id} deleted")),
        }
    }
}
