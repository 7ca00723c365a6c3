//! The main loop of a worker.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use super::backoff::Backoff;
use super::fetching::Fetched;
use super::heartbeat::{self, BeatResponse, HeartbeatTimer};
use super::report::is_retryable;
use super::running_jobs::RunningJobs;
use super::shutdown::Phase;
use super::{Event, Finished, Handler, Shutdown, StopReason, Summary, Worker};
use crate::{Error, Welcome};

/// Default length of reservations.
const USUAL_VISIBILITY: Duration = Duration::from_secs(30);
const LONGEST_VISIBILITY: Duration = Duration::from_secs(366 * 24 * 3_600);
/// How long to wait for jobs that the server sent before it learned that the worker is quiet.
const LAST_DELIVERY: Duration = Duration::from_millis(50);
/// How long to try to report jobs that had to be stopped.
const REPORT_TIMEOUT: Duration = Duration::from_secs(5);

type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// The state of a running worker.
pub(super) struct Run<H> {
    pub(super) worker: Worker,
    pub(super) handler: Arc<H>,
    pub(super) phase: Phase,
    /// Whether an operator has told the worker not to fetch jobs.
    pub(super) quieted: bool,
    pub(super) running: RunningJobs,
    pub(super) tasks: JoinSet<Finished>,
    pub(super) heart: HeartbeatTimer,
    pub(super) usual_visibility: Duration,
    pub(super) taken: u64,
    /// Whether the last fetch returned nothing, and no job has ended since.
    pub(super) idle: bool,
    pub(super) pause: Duration,
    pub(super) fetch_started: Instant,
    pub(super) backoff: Backoff,
    pub(super) unreachable_since: Option<Instant>,
    /// When the phase ends, even if jobs are still running.
    pub(super) deadline: Option<Instant>,
    pub(super) refused: Option<Error>,
    pub(super) summary: Summary,
}

impl<H: Handler> Run<H> {
    pub fn new(worker: Worker, handler: Arc<H>, welcome: Option<&Welcome>) -> Self {
        let visibility = welcome.and_then(|welcome| welcome.visibility_timeout_default);
        let visibility = visibility.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let visibility = visibility.unwrap_or(USUAL_VISIBILITY).min(LONGEST_VISIBILITY);
        Self {
            worker,
            handler,
            phase: Phase::Working,
            quieted: false,
            running: RunningJobs::default(),
            tasks: JoinSet::new(),
            heart: HeartbeatTimer::new(welcome),
            usual_visibility: visibility,
            taken: 0,
            idle: false,
            pause: Duration::ZERO,
            fetch_started: Instant::now(),
            backoff: Backoff::default(),
            unreachable_since: None,
            deadline: None,
            refused: None,
            summary: Summary::default(),
        }
    }

    pub async fn run(mut self, mut shutdown: Shutdown) -> Result<Summary, Error> {
        let mut fetch: Pending<Fetched> = None;
        let mut beat: Pending<BeatResponse> = None;
        let mut fetch_until = None;
        self.enter(shutdown.phase());
        loop {
            if fetch.is_none() && self.wants_jobs() {
                fetch = Some(Box::pin(self.fetch()));
            }
            if fetch.is_none() && self.is_over() {
                break;
            }
            let beat_at = self.heart.due(self.running.reservations());
            tokio::select! {
                Some(joined) = self.tasks.join_next_with_id() => self.finish(joined),
                answer = ready(&mut fetch) => {
                    (fetch, fetch_until) = (None, None);
                    self.fetched(answer);
                }
                answered = ready(&mut beat) => {
                    beat = None;
                    if answered.phase.min(self.phase) >= Phase::Quiet && fetch_until.is_none() {
                        fetch_until = Some(Instant::now() + LAST_DELIVERY);
                    }
                    self.handle_beat_response(&answered);
                }
                () = sleep_until(beat_at), if beat.is_none() => beat = Some(self.beat()),
                () = shutdown.changed() => self.enter(shutdown.phase()),
                () = sleep_until_deadline(self.deadline) => self.deadline_passed(),
                () = sleep_until_deadline(fetch_until), if fetch_until.is_some() => {
                    (fetch, fetch_until) = (None, None);
                }
            }
        }
        // A heartbeat that arrives after the deregistration would register the worker again.
        if beat.is_some() {
            ready(&mut beat).await;
        }
        self.leave().await;
        self.refused.map_or(Ok(self.summary), Err)
    }

    fn is_over(&self) -> bool {
        let nothing_to_do = self.worker.options.until_idle && (self.idle || !self.may_fetch());
        let ends = self.phase >= Phase::Draining || self.left() == 0 || nothing_to_do;
        ends && self.tasks.is_empty()
    }

    fn finish(&mut self, joined: Result<(Id, Finished), JoinError>) {
        self.idle = false;
        if self.unreachable_since.is_none() {
            self.pause = Duration::ZERO;
        }
        match joined {
            Ok((task, finished)) => {
                self.running.remove(task);
                self.summary.count(&finished);
                (self.worker.on_event)(&Event::Finished(&finished));
            }
            Err(aborted) => {
                self.running.remove(aborted.id());
                self.summary.abandoned += 1;
            }
        }
    }

    fn beat(&mut self) -> Pin<Box<dyn Future<Output = BeatResponse> + Send>> {
        self.heart.beats();
        let (client, id) = (self.worker.client.clone(), self.worker.options.id.clone());
        Box::pin(heartbeat::beat(client, id, self.running.ids(), self.phase))
    }

    fn handle_beat_response(&mut self, answered: &BeatResponse) {
        let answer = match &answered.answer {
            Ok(answer) => answer,
            Err(error) => {
                if is_retryable(error) {
                    self.server_unreachable(error);
                }
                return;
            }
        };
        self.server_reachable(answered.sent);
        self.running.stop(&answer.jobs_cancelled, answered.sent, StopReason::Cancelled);
        self.running.stop(&answer.jobs_lost, answered.sent, StopReason::Lost);
        self.running.extend(answered.sent);
        let quieted = answer.state == "quiet";
        if quieted != self.quieted && self.phase == Phase::Working {
            self.quieted = quieted;
            (self.worker.on_event)(if quieted { &Event::Quieted } else { &Event::Resumed });
        }
        if answer.state == "terminate" {
            self.enter(Phase::Draining);
        }
    }

    fn enter(&mut self, phase: Phase) {
        if phase == self.phase || phase < self.phase && self.phase >= Phase::Draining {
            return;
        }
        self.phase = phase;
        self.heart.hurry();
        let (now, running) = (Instant::now(), self.running.count());
        let options = &self.worker.options;
        if phase == Phase::Draining {
            self.deadline = Some(now + options.grace);
            (self.worker.on_event)(&Event::Draining { running });
        }
        if phase == Phase::Stopping {
            let report_deadline = now + options.stop_within + REPORT_TIMEOUT;
            self.deadline = Some(report_deadline + REPORT_TIMEOUT);
            self.running.stop_all(report_deadline);
            (self.worker.on_event)(&Event::Stopping { running });
        }
    }

    fn deadline_passed(&mut self) {
        self.deadline = None;
        match self.phase {
            Phase::Stopping => self.tasks.abort_all(),
            _ => self.enter(Phase::Stopping),
        }
    }

    pub(super) fn server_unreachable(&mut self, error: &Error) -> Instant {
        if self.unreachable_since.is_none() {
            (self.worker.on_event)(&Event::Away(error));
        }
        *self.unreachable_since.get_or_insert_with(Instant::now)
    }

    /// A request that was sent at `sent` has been answered. One from before the server went away proves
    /// nothing: its answer may have been on its way already.
    pub(super) fn server_reachable(&mut self, sent: Instant) {
        if self.unreachable_since.is_some_and(|since| sent < since) {
            return;
        }
        self.backoff.reset();
        if self.unreachable_since.take().is_some() {
            (self.worker.on_event)(&Event::Back);
        }
    }

    pub(super) fn give_up(&mut self, error: Error) {
        self.refused = Some(error);
        self.enter(Phase::Draining);
    }

    /// Deregisters the worker, unless it has abandoned jobs: the server requeues the jobs of a dead worker
    /// sooner than those of a deregistered one, which wait for the end of their reservations.
    async fn leave(&self) {
        if self.summary.abandoned == 0 {
            let farewell = self.worker.client.deregister(&self.worker.options.id);
            // If this fails, the server notices the missing heartbeats.
            let _ = timeout(REPORT_TIMEOUT, farewell).await;
        }
    }
}

async fn ready<T>(pending: &mut Pending<T>) -> T {
    match pending {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn sleep_until_deadline(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
