use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep, timeout};

use super::report::{Report, Reported};
use super::stop::Orders;
use super::{Failure, Handler, Outcome, Stop, StopReason};
use crate::{Client, Job, Kept};

/// How a job ended here.
#[derive(Debug)]
pub enum Ending {
    /// The handler returned a result.
    Completed,
    /// The handler failed, panicked or took too long.
    Failed(Failure),
    /// Stopped, because the worker ends.
    HandedBack,
    /// It arrived when the worker was about to end, and goes back.
    Unstarted,
    /// Stopped, because the job was cancelled.
    Cancelled,
    /// Not this worker's any more.
    Lost,
}

/// A job that this worker has nothing to do with any more.
#[derive(Debug)]
pub struct Finished {
    /// The job as it was fetched.
    pub job: Arc<Kept<Job>>,
    /// How long the handler ran.
    pub duration: Duration,
    /// How it ended here.
    pub ending: Ending,
    /// Whether the server knows.
    pub reported: Reported,
}

/// One job, from its arrival until the server knows its outcome.
pub(super) struct Execution<H> {
    pub client: Client,
    pub worker_id: String,
    pub job: Arc<Kept<Job>>,
    pub handler: Arc<H>,
    pub orders: watch::Receiver<Orders>,
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

    /// Back to the queue without having been started.
    pub async fn return_unstarted(mut self) -> Finished {
        let report = Report::hand_back(&self.job, &self.worker_id);
        let reported = report.send(&self.client, &mut self.orders).await;
        Finished { job: self.job, duration: Duration::ZERO, ending: Ending::Unstarted, reported }
    }

    async fn handle(&mut self) -> (Option<StopReason>, Outcome) {
        let (stop, told) = Stop::new();
        let (handler, job) = (self.handler.clone(), self.job.clone());
        let mut handling = Aborting(tokio::spawn(async move { handler.handle(job, told).await }));
        let longest = longest(self.timeout, self.job.timeout_ms);
        let reason = tokio::select! {
            outcome = &mut handling.0 => return (None, unless_it_panicked(outcome)),
            reason = ordered_to_stop(&mut self.orders) => reason,
            () = time_is_up(longest) => StopReason::Timeout,
        };
        stop.send_replace(Some(reason));
        match timeout(self.stop_within, &mut handling.0).await {
            Ok(outcome) => (Some(reason), unless_it_panicked(outcome)),
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

/// A handler does not outlive the task that waits for it.
struct Aborting(JoinHandle<Outcome>);

impl Drop for Aborting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn unless_it_panicked(outcome: Result<Outcome, JoinError>) -> Outcome {
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

/// The shorter of the two. The server counts a job's own timeout too, and begins earlier: a tenth of
/// it, and at most a second, is left for stopping and for the report.
fn longest(given: Option<Duration>, job_ms: Option<u64>) -> Option<Duration> {
    let of_job =
        job_ms.filter(|ms| *ms > 0).map(|ms| Duration::from_millis(ms - (ms / 10).min(1_000)));
    given.into_iter().chain(of_job).min()
}

async fn time_is_up(after: Option<Duration>) {
    match after {
        Some(after) => sleep(after).await,
        None => std::future::pending().await,
    }
}

async fn ordered_to_stop(orders: &mut watch::Receiver<Orders>) -> StopReason {
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
