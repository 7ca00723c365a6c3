//! `rota health`: checks whether the server is healthy.

use clap::Args;
use rota_client::Health as Answer;

use crate::Failure;
use crate::output::{Table, plural, print, print_json};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  rota health                              a summary; the exit code says whether it is healthy
  rota health --url http://10.0.0.7:8080 --json
  until rota health >/dev/null 2>&1; do sleep 1; done     wait for a server to come up

Exit code 0: healthy. 1: it answers but is not healthy. 3: it does not answer.";

/// Check whether the server is healthy
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Health {
    #[command(flatten)]
    remote: Remote,
}

impl Health {
    pub async fn run(self) -> Result<(), Failure> {
        let health = self.remote.client()?.health().await?;
        if self.remote.json {
            print_json(&health)?;
        } else {
            print(&summary(&health, &self.remote.url))?;
        }
        match &*health.status {
            "ok" => Ok(()),
            other => Err(Failure::error(format!("the server is {other}"))
                .hint("New jobs may be rejected. Its log says why; look at the disk first.")),
        }
    }
}

fn summary(health: &Answer, url: &str) -> String {
    let mut table = Table::of_fields();
    table.field("status", &health.status);
    table.field("server", url);
    table.field_if("version", health.server_version.as_ref());
    table.field_if("uptime", health.uptime_seconds.map(uptime));
    if let Some(backend) = &health.backend {
        let word = |text: &Option<String>| text.clone().unwrap_or_default();
        table.field("storage", format!("{}, {}", word(&backend.kind), word(&backend.status)));
    }
    table.field_if("active", health.active_jobs.map(|count| plural(count, "job", "jobs")));
    table.field_if("workers", health.workers.map(|count| count.to_string()));
    table.take()
}

/// The two largest units.
fn uptime(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}
