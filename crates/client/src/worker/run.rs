use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use super::backoff::Backoff;
use super::heart::{self, Answered, Heart};
use super::intake::Fetched;
use super::report::may_pass;
use super::running::Running;
use super::shutdown::Phase;
use super::{Event, Finished, Handler, Shutdown, StopReason, Summary, Worker};
use crate::{Error, Welcome};

/// How long a reservation lasts when nobody says so.
const USUAL_VISIBILITY: Duration = Duration::from_secs(30);
const LONGEST_VISIBILITY: Duration = Duration::from_secs(366 * 24 * 3_600);
/// Jobs that were handed out before the server knew that no more are wanted arrive within this.
const LAST_DELIVERY: Duration = Duration::from_millis(50);
/// For telling the server about jobs that had to be stopped.
const LAST_WORD: Duration = Duration::from_secs(5);

type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// A worker at work.
pub(super) struct Run<H> {
    pub(super) worker: Worker,
    pub(super) handler: Arc<H>,
    pub(super) phase: Phase,
    /// By an operator.
    pub(super) quieted: bool,
    pub(super) running: Running,
    pub(super) tasks: JoinSet<Finished>,
    pub(super) heart: Heart,
    pub(super) usual_visibility: Duration,
    pub(super) taken: u64,
    /// The last fetch found nothing, and nothing has happened since.
    pub(super) idle: bool,
    pub(super) pause: Duration,
    pub(super) asked: Instant,
    pub(super) backoff: Backoff,
    pub(super) away_since: Option<Instant>,
    /// When the phase ends, whatever is still running.
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
            running: Running::default(),
            tasks: JoinSet::new(),
            heart: Heart::new(welcome),
            usual_visibility: visibility,
            taken: 0,
            idle: false,
            pause: Duration::ZERO,
            asked: Instant::now(),
            backoff: Backoff::default(),
            away_since: None,
            deadline: None,
            refused: None,
            summary: Summary::default(),
        }
    }

    pub async fn until_it_ends(mut self, mut shutdown: Shutdown) -> Result<Summary, Error> {
        let mut fetch: Pending<Fetched> = None;
        let mut beat: Pending<Answered> = None;
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
                    self.beaten(&answered);
                }
                () = sleep_until(beat_at), if beat.is_none() => beat = Some(self.beat()),
                () = shutdown.changed() => self.enter(shutdown.phase()),
                () = moment(self.deadline) => self.deadline_passed(),
                () = moment(fetch_until), if fetch_until.is_some() => {
                    (fetch, fetch_until) = (None, None);
                }
            }
        }
        // A beat that overtakes the farewell would make the worker known again.
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
        if self.away_since.is_none() {
            self.pause = Duration::ZERO;
        }
        match joined {
            Ok((task, finished)) => {
                self.running.remove(task);
                self.summary.count(&finished);
                (self.worker.tell)(&Event::Finished(&finished));
            }
            Err(aborted) => {
                self.running.remove(aborted.id());
                self.summary.abandoned += 1;
            }
        }
    }

    fn beat(&mut self) -> Pin<Box<dyn Future<Output = Answered> + Send>> {
        self.heart.beats();
        let (client, id) = (self.worker.client.clone(), self.worker.options.id.clone());
        Box::pin(heart::beat(client, id, self.running.ids(), self.phase))
    }

    fn beaten(&mut self, answered: &Answered) {
        let answer = match &answered.answer {
            Ok(answer) => answer,
            Err(error) => {
                if may_pass(error) {
                    self.is_away(error);
                }
                return;
            }
        };
        self.is_back();
        self.running.stop(&answer.jobs_cancelled, answered.sent, StopReason::Cancelled);
        self.running.stop(&answer.jobs_lost, answered.sent, StopReason::Lost);
        self.running.extend(answered.sent);
        let quieted = answer.state == "quiet";
        if quieted != self.quieted && self.phase == Phase::Working {
            self.quieted = quieted;
            (self.worker.tell)(if quieted { &Event::Quieted } else { &Event::Resumed });
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
            (self.worker.tell)(&Event::Draining { running });
        }
        if phase == Phase::Stopping {
            let last_word = now + options.stop_within + LAST_WORD;
            self.deadline = Some(last_word + LAST_WORD);
            self.running.stop_all(last_word);
            (self.worker.tell)(&Event::Stopping { running });
        }
    }

    fn deadline_passed(&mut self) {
        self.deadline = None;
        match self.phase {
            Phase::Stopping => self.tasks.abort_all(),
            _ => self.enter(Phase::Stopping),
        }
    }

    pub(super) fn is_away(&mut self, error: &Error) -> Instant {
        if self.away_since.is_none() {
            (self.worker.tell)(&Event::Away(error));
        }
        *self.away_since.get_or_insert_with(Instant::now)
    }

    pub(super) fn is_back(&mut self) {
        self.backoff.reset();
        if self.away_since.take().is_some() {
            (self.worker.tell)(&Event::Back);
        }
    }

    pub(super) fn give_up(&mut self, error: Error) {
        self.refused = Some(error);
        self.enter(Phase::Draining);
    }

    /// A worker that leaves jobs behind does not say goodbye: it would be forgotten, and its jobs
    /// would stay with it until their time is over instead of returning when it is missed.
    async fn leave(&self) {
        if self.summary.abandoned == 0 {
            let farewell = self.worker.client.deregister(&self.worker.options.id);
            // Whoever does not hear it will miss the worker a little later.
            let _ = timeout(LAST_WORD, farewell).await;
        }
    }
}

async fn ready<T>(pending: &mut Pending<T>) -> T {
    match pending {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn moment(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
