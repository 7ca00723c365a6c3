//! `rota work`: runs a command for each job.

mod capture;
mod child;
mod compact;
mod group;
mod log;
mod owner;
mod program;
mod signals;
mod size;
mod verdict;

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use rota_client::worker::{Options, Shutdown, Summary, Worker};
use rota_client::{Choice, Client};

use self::child::Commanded;
use self::log::Log;
use self::owner::Owner;
use self::size::size;
use super::job_options::duration_ms;
use super::number::{at_least, between};
use super::weights::{STRATEGIES, weight};
use crate::Failure;
use crate::output::plural;
use crate::remote::Remote;

/// Extra time after SIGTERM: for SIGKILL to take effect, and to read the output.
const AFTER_KILL: Duration = Duration::from_secs(5);

const EXAMPLES: &str = r#"Examples:
  rota work --queue email -- ./send-email.sh
  rota work --queue urgent --queue bulk --concurrency 8 -- python3 handle.py
                                    urgent jobs go first
  rota work -- sh -c 'jq -r ".args[0]" | xargs -r convert-video'
                                    arguments for a program that knows nothing of jobs
  rota work --queue email --queue bulk --strategy weighted --weight email=3 -- ./job.sh
                                    three of four jobs are from email, while both have some
  rota work --pool mail -- ./job.sh            the queues and the strategy of a pool
  rota work --once -- ./job.sh      work off what is waiting, then exit
  rota work --json --quiet -- ./job.sh | jq -r 'select(.outcome == "failed") | .job_id'

A worker in bash, send-email.sh:
  #!/bin/bash
  set -euo pipefail
  job=$(cat)                                      # the job is on standard input
  to=$(jq -r '.args[0]' <<<"$job")
  grep -q @ <<<"$to" || { echo "no address: $to" >&2; exit 100; }     # do not retry
  sendmail "$to" < letter.txt                     # a failure is retried
  jq -n --arg to "$to" '{sent: $to}'              # standard output is the result

The command gets the job as JSON on its standard input, and ROTA_JOB_ID, ROTA_JOB_TYPE, ROTA_QUEUE,
ROTA_ATTEMPT, ROTA_URL and, for the job's tenant, ROTA_TENANT. Exit status 0: done; standard output
is the result, as JSON if it is JSON, else as {"output": TEXT}. Status 100: failed permanently. Any other
status, also 75, or a signal: failed, and the job's retry policy decides; the end of standard error is
kept with the job.

SIGTERM or SIGINT: running commands may finish, no more jobs are fetched. The same again: they are
stopped and their jobs handed back. SIGTSTP: fetch no more until SIGCONT.

Exit code 0: ended in order. 1: jobs were not finished. 2: usage, or the command cannot be run.
3: no server at the start. 5: the server rejected a request, such as a bad queue name."#;

/// Run a command for each job
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Work {
    /// A queue to take jobs from; repeatable, served in this order. Default: `default`, or the queues
    /// of the pool
    #[arg(long, value_name = "NAME")]
    queue: Vec<String>,

    /// The worker's pool
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,

    /// How to choose the next queue; a pool's strategy takes precedence, default strict
    #[arg(long, value_parser = STRATEGIES)]
    strategy: Option<String>,

    /// The weight of a queue, for the strategy weighted; repeatable
    #[arg(long, value_name = "QUEUE=N", value_parser = weight)]
    weight: Vec<(String, u64)>,

    /// Maximum commands running at once
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = between(1_u32, 1000))]
    concurrency: u32,

    /// Exit when no job is waiting
    #[arg(long)]
    once: bool,

    /// Exit after this many jobs
    #[arg(long, value_name = "N", value_parser = at_least(1_u64))]
    max_jobs: Option<u64>,

    /// How long a command may run; a shorter timeout of the job takes precedence
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,

    /// Time between SIGTERM and SIGKILL for a command that must stop
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5s")]
    kill_after: Duration,

    /// How long running commands may take to finish at shutdown
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "25s")]
    drain_timeout: Duration,

    /// How much of a command's output to keep, from its beginning and end
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64KiB")]
    output_limit: usize,

    /// Exit status that means: do not retry
    #[arg(long, value_name = "CODE", default_value_t = 100,
          value_parser = between(1_u8, 255))]
    no_retry_exit: u8,

    /// The worker's name; default: host, process id and a random suffix
    #[arg(long, value_name = "ID")]
    worker_id: Option<String>,

    /// Do not log single jobs on standard error
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    remote: Remote,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Work {
    pub async fn run(self) -> Result<(), Failure> {
        let client = self.remote.client()?;
        let program = program::find(self.command.first())?;
        let (trigger, shutdown) = Shutdown::new();
        signals::listen(trigger)?;
        let log = Log { quiet: self.quiet, json: self.remote.json };
        let handler = Commanded {
            program,
            arguments: self.command.iter().skip(1).cloned().collect(),
            url: client.url(),
            owner: Owner { client: client.clone(), tenant: self.remote.tenant.clone() },
            output_limit: self.output_limit,
            kill_after: self.kill_after,
            no_retry_exit: self.no_retry_exit,
        };
        let queues = self.queues(&client).await?;
        let worker =
            Worker::new(client, self.options(queues)).on_event(move |event| log.tell(event));
        let summary = worker.run(handler, shutdown).await?;
        conclude(&summary)
    }

    /// The pool's queues, if only the pool is named.
    async fn queues(&self, client: &Client) -> Result<Vec<String>, Failure> {
        match &self.pool {
            Some(pool) if self.queue.is_empty() => Ok(client.pool(pool).await?.queues.clone()),
            None if self.queue.is_empty() => Ok(vec!["default".to_owned()]),
            _ => Ok(self.queue.clone()),
        }
    }

    fn options(&self, queues: Vec<String>) -> Options {
        let mut options = Options::new(queues);
        options.choice = Choice {
            pool: self.pool.clone(),
            strategy: self.strategy.clone(),
            weights: self.weight.iter().cloned().collect(),
        };
        if let Some(id) = &self.worker_id {
            options.id.clone_from(id);
        }
        options.concurrency = self.concurrency;
        options.timeout = self.timeout;
        options.grace = self.drain_timeout;
        options.stop_within = self.kill_after + AFTER_KILL;
        options.max_jobs = self.max_jobs;
        options.until_idle = self.once;
        options.version = Some(concat!("rota ", env!("CARGO_PKG_VERSION")).to_owned());
        options
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    duration_ms(text).map(Duration::from_millis)
}

fn conclude(summary: &Summary) -> Result<(), Failure> {
    let jobs = |count| plural(count, "job", "jobs");
    match (summary.handed_back, summary.abandoned) {
        (0, 0) => Ok(()),
        (back, 0) => Err(Failure::error(format!("{} stopped and handed back", jobs(back)))),
        (back, left) => Err(Failure::error(format!(
            "{} stopped and handed back; of {} the server could not be told",
            jobs(back),
            jobs(left)
        ))
        .hint("They return to their queues when the server misses this worker.")),
    }
}
