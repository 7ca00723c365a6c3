//! Fetching jobs and starting their executions.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::execution::Execution;
use super::report::is_retryable;
use super::run::Run;
use super::running_jobs::RunningJob;
use super::shutdown::Phase;
use super::{Event, Handler};
use crate::{Error, Fetch, Job, WithJson};

/// Minimum interval between fetches that return nothing, for servers that do not wait.
const POLL: Duration = Duration::from_secs(1);

pub(super) type Fetched = Result<Vec<WithJson<Job>>, Error>;

impl<H: Handler> Run<H> {
    pub(super) fn wants_jobs(&self) -> bool {
        let waits = self.worker.options.until_idle && self.idle;
        self.may_fetch() && !waits && self.room() > 0
    }

    pub(super) fn may_fetch(&self) -> bool {
        self.phase == Phase::Working && !self.quieted && self.left() > 0
    }

    /// Number of jobs that the worker may still fetch.
    pub(super) fn left(&self) -> u64 {
        self.worker.options.max_jobs.map_or(u64::MAX, |most| most.saturating_sub(self.taken))
    }

    fn room(&self) -> u32 {
        let running = u32::try_from(self.running.count()).unwrap_or(u32::MAX);
        let free = self.worker.options.concurrency.saturating_sub(running);
        free.min(u32::try_from(self.left()).unwrap_or(u32::MAX))
    }

    pub(super) fn fetch(&mut self) -> impl Future<Output = Fetched> + Send + use<H> {
        let options = &self.worker.options;
        let wait = if options.until_idle { Duration::ZERO } else { options.wait };
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let fetch = Fetch::from(&options.queues)
            .worker(&options.id)
            .count(self.room())
            .wait_ms(wait_ms)
            .choice(options.choice.clone());
        let (client, pause) = (self.worker.client.clone(), std::mem::take(&mut self.pause));
        self.fetch_started = Instant::now() + pause;
        async move {
            sleep(pause).await;
            client.fetch(&fetch).await
        }
    }

    pub(super) fn fetched(&mut self, answer: Fetched) {
        match answer {
            Ok(jobs) => {
                self.server_reachable(self.fetch_started);
                self.idle = jobs.is_empty();
                if jobs.is_empty() {
                    self.pause = POLL.saturating_sub(self.fetch_started.elapsed());
                }
                jobs.into_iter().for_each(|job| self.take(job));
            }
            Err(error) if is_retryable(&error) => {
                self.pause = self.backoff.next();
                let since = self.server_unreachable(&error);
                let patience = self.worker.options.connect_within;
                let hopeless = self.worker.options.until_idle && since.elapsed() > patience;
                if hopeless && self.tasks.is_empty() {
                    self.give_up(error);
                }
            }
            Err(error) => self.give_up(error),
        }
    }

    fn take(&mut self, job: WithJson<Job>) {
        let job = Arc::new(job);
        let (held, orders) = RunningJob::new(&job, self.usual_visibility);
        let execution = Execution {
            client: self.worker.client.clone(),
            worker_id: self.worker.options.id.clone(),
            job: job.clone(),
            handler: self.handler.clone(),
            orders,
            timeout: self.worker.options.timeout,
            stop_within: self.worker.options.stop_within,
        };
        let task = if self.phase >= Phase::Draining {
            self.tasks.spawn(execution.return_unstarted())
        } else {
            self.taken += 1;
            (self.worker.on_event)(&Event::Started(&job));
            self.tasks.spawn(execution.run())
        };
        self.running.add(task.id(), held);
    }
}
