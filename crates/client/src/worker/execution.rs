//! The execution of one job.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep, timeout};

use super::report::{Report, Reported};
use super::stop_signal::JobOrders;
use super::{Failure, Handler, Outcome, Stop, StopReason};
use crate::{Client, Job, WithJson};

/// How an execution ended.
#[derive(Debug)]
pub enum Ending {
    /// The handler returned a result.
    Completed,
    /// The handler failed, panicked or took too long.
    Failed(Failure),
    /// Stopped because the worker ends, and returned to its queue.
    HandedBack,
    /// Fetched when the worker was already draining, and returned without being started.
    Unstarted,
    /// Stopped because the job was cancelled.
    Cancelled,
    /// Stopped because the job does not belong to this worker any more.
    Lost,
}

/// An execution that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The job as it was fetched.
    pub job: Arc<WithJson<Job>>,
    /// How long the handler ran.
    pub duration: Duration,
    /// How it ended.
    pub ending: Ending,
    /// Whether the server has accepted the report.
    pub reported: Reported,
}

/// The execution of one job, from the fetch until its outcome is reported.
pub(super) struct Execution<H> {
    pub client: Client,
    pub worker_id: String,
    pub job: Arc<WithJson<Job>>,
    pub handler: Arc<H>,
    pub orders: watch::Receiver<JobOrders>,
    pub timeout: Option<Duration>,
    pub stop_within: Duration,
}

impl<H: Handler> Execution<H> {
    pub async fn run(mut self) -> Finished {
        let began = Instant::now();
        let (reason, outcome) = self.handle().await;
        let duration = began.elapsed();
        let (ending, report) = self.conclude(reason, outcome);
        let reported = match report {
            Some(report) => report.send(&self.client, &mut self.orders).await,
            None => Reported::Unneeded,
        };
        Finished { job: self.job, duration, ending, reported }
    }

    /// Returns the job to its queue without starting it.
    pub async fn return_unstarted(mut self) -> Finished {
        let report = Report::hand_back(&self.job, &self.worker_id);
        let reported = report.send(&self.client, &mut self.orders).await;
        Finished { job: self.job, duration: Duration::ZERO, ending: Ending::Unstarted, reported }
    }

    async fn handle(&mut self) -> (Option<StopReason>, Outcome) {
        let (stop_sender, stop) = Stop::new();
        let (handler, job) = (self.handler.clone(), self.job.clone());
        let mut handling = Aborting(tokio::spawn(async move { handler.handle(job, stop).await }));
        let longest = longest(self.timeout, self.job.timeout_ms);
        let reason = tokio::select! {
            outcome = &mut handling.0 => return (None, panic_to_failure(outcome)),
            reason = stop_ordered(&mut self.orders) => reason,
            () = sleep_or_never(longest) => StopReason::Timeout,
        };
        stop_sender.send_replace(Some(reason));
        match timeout(self.stop_within, &mut handling.0).await {
            Ok(outcome) => (Some(reason), panic_to_failure(outcome)),
            Err(_) => (Some(reason), Outcome::Stopped),
        }
    }

    fn conclude(&self, reason: Option<StopReason>, outcome: Outcome) -> (Ending, Option<Report>) {
        let (job, worker) = (&*self.job, &*self.worker_id);
        match (reason, outcome) {
            (Some(StopReason::Cancelled), _) => (Ending::Cancelled, None),
            (Some(StopReason::Lost), _) => (Ending::Lost, None),
            (_, Outcome::Done(result)) => {
                (Ending::Completed, Some(Report::done(job, worker, result)))
            }
            (_, Outcome::Failed(failure)) => {
                let report = Report::failed(job, worker, failure.clone());
                (Ending::Failed(failure), Some(report))
            }
            (Some(StopReason::Timeout), Outcome::Stopped) => {
                let failure = Failure::new("timeout", "it took longer than it may");
                let report = Report::failed(job, worker, failure.clone());
                (Ending::Failed(failure), Some(report))
            }
            (Some(StopReason::Shutdown) | None, Outcome::Stopped) => {
                (Ending::HandedBack, Some(Report::hand_back(job, worker)))
            }
        }
    }
}

/// Aborts the handler's task when dropped.
struct Aborting(JoinHandle<Outcome>);

impl Drop for Aborting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn panic_to_failure(outcome: Result<Outcome, JoinError>) -> Outcome {
    match outcome.map_err(JoinError::try_into_panic) {
        Ok(outcome) => outcome,
        Err(Ok(panic)) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Failure::new("panic", text.unwrap_or_else(|| "the handler panicked".into())).into()
        }
        Err(Err(_)) => Outcome::Stopped,
    }
}

/// The shorter of the two timeouts. The server enforces the job's timeout too, and its clock started
/// earlier, so a tenth of it (at most a second) is left for stopping and reporting.
fn longest(given: Option<Duration>, job_ms: Option<u64>) -> Option<Duration> {
    let of_job =
        job_ms.filter(|ms| *ms > 0).map(|ms| Duration::from_millis(ms - (ms / 10).min(1_000)));
    given.into_iter().chain(of_job).min()
}

async fn sleep_or_never(after: Option<Duration>) {
    match after {
        Some(after) => sleep(after).await,
        None => std::future::pending().await,
    }
}

async fn stop_ordered(orders: &mut watch::Receiver<JobOrders>) -> StopReason {
    match orders.wait_for(|orders| orders.stop.is_some()).await {
        Ok(orders) => orders.stop.unwrap_or(StopReason::Shutdown),
        Err(_) => StopReason::Shutdown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_timeout_counts_and_leaves_time_for_the_report() {
        let ms = Duration::from_millis;
        assert_eq!(longest(None, None), None);
        assert_eq!(longest(None, Some(0)), None);
        assert_eq!(longest(None, Some(1_000)), Some(ms(900)));
        assert_eq!(longest(None, Some(60_000)), Some(ms(59_000)));
        assert_eq!(longest(Some(ms(500)), Some(60_000)), Some(ms(500)));
        assert_eq!(longest(Some(ms(500)), None), Some(ms(500)));
    }
}
