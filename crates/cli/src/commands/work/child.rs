//! Runs a command for one job.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rota_client::worker::{Failure, Handler, Outcome, Stop, StopReason};
use rota_client::{Job, WithJson};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::Instant;

use super::capture::Capture;
use super::compact::compact;
use super::group::Group;
use super::owner::Owner;
use super::verdict::{self, Printed};
use crate::output::milliseconds;

/// The worker's own secrets. Commands run on behalf of jobs, and whoever can enqueue one must not get hold of
/// them.
const SECRETS: [&str; 2] = ["ROTA_TOKEN", "ROTA_BOOTSTRAP_KEY"];

/// Runs a command for each job.
pub(super) struct Commanded {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub url: String,
    pub owner: Owner,
    pub output_limit: usize,
    pub kill_after: Duration,
    pub no_retry_exit: u8,
}

impl Handler for Commanded {
    async fn handle(&self, job: Arc<WithJson<Job>>, mut stop: Stop) -> Outcome {
        let began = Instant::now();
        let tenant = tokio::select! {
            tenant = self.owner.of(&job) => tenant,
            _ = stop.requested() => return Outcome::Stopped,
        };
        let mut child = match self.spawn(&job, tenant.as_deref()) {
            Ok(child) => child,
            Err(cause) => return self.not_started(&cause),
        };
        let mut group = Group::of(&child);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Outcome::Stopped;
        };
        // All three at once: a command may print before it reads, or not read at all.
        let feeding = tokio::spawn(feed(stdin, job));
        let stdout = Capture::start(stdout, self.output_limit);
        let stderr = Capture::start(stderr, self.output_limit);
        let reason = tokio::select! {
            _ = child.wait() => None,
            reason = stop.requested() => Some(reason),
        };
        match reason {
            None => group.leave_alone(),
            Some(_) => group.stop(&mut child, self.kill_after).await,
        }
        let status = child.wait().await;
        feeding.abort();
        let printed = Printed { stdout: stdout.end().await, stderr: stderr.end().await };
        match (reason, status) {
            (Some(StopReason::Timeout), _) => {
                let ran = milliseconds(began.elapsed().as_secs_f64() * 1_000.0);
                let text = format!("its time was up; stopped after {ran}");
                printed.keep_with(Failure::new("timeout", text)).into()
            }
            (Some(_), _) => Outcome::Stopped,
            (None, Ok(status)) => verdict::of(status, &printed, self.no_retry_exit),
            (None, Err(cause)) => self.not_started(&cause),
        }
    }
}

impl Commanded {
    fn spawn(&self, job: &Job, tenant: Option<&str>) -> std::io::Result<Child> {
        let mut command = Command::new(&self.program);
        for name in SECRETS {
            command.env_remove(name);
        }
        command
            .args(&self.arguments)
            .env("ROTA_JOB_ID", &job.id)
            .env("ROTA_JOB_TYPE", &job.kind)
            .env("ROTA_QUEUE", &job.queue)
            .env("ROTA_ATTEMPT", job.attempt.to_string())
            .env("ROTA_URL", &self.url)
            .envs(tenant.map(|id| ("ROTA_TENANT", id)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A separate process group, so that all of it can be stopped, and Ctrl-C in the terminal
            // reaches only the worker.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }

    fn not_started(&self, cause: &std::io::Error) -> Outcome {
        let text = format!("{} cannot be run: {cause}", self.program.display());
        Failure::new("not_started", text).into()
    }
}

/// Writes the job as one line. A command that ignores it closes the pipe, which is not an error.
async fn feed(mut stdin: ChildStdin, job: Arc<WithJson<Job>>) {
    let line = compact(job.json()) + "\n";
    let _ = stdin.write_all(line.as_bytes()).await;
}
