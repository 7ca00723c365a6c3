//! Releases answers and events after their commit, all of a batch at once.

use std::sync::Arc;

use rota_engine::{Command, Event, KeyChange, RequestLimitChange, Undelivered};
use rota_model::Seq;
use tokio::sync::{mpsc, oneshot};

use super::Events;
use super::ask::{Answer, Input, Request};
use super::mailbox::Mailbox;
use super::source::Source;

/// Answers and events that wait for a commit.
#[derive(Default)]
pub(super) struct Release {
    pub answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    /// Answers about deletions. Only the view knows how many bytes these free, so the tenants have their room
    /// when it has applied them.
    pub late_answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    pub events: Vec<Event>,
    /// The number of the first event.
    pub first_event: u64,
    /// Changes of API keys. They are applied before the answers are given.
    pub keys: Vec<KeyChange>,
    /// The same for tenants' limits on requests.
    pub request_limits: Vec<RequestLimitChange>,
}

impl Release {
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.late_answers.is_empty() && self.events.is_empty()
    }

    /// Splits off the answers that wait for the view.
    pub fn take_late_answers(&mut self) -> Self {
        Self { answers: std::mem::take(&mut self.late_answers), ..Self::default() }
    }

    /// Answers every request with `why` instead, and drops the events.
    pub fn fail(self, why: &super::Unavailable) {
        for (responder, _) in self.answers.into_iter().chain(self.late_answers) {
            let _ = responder.send(Answer::Unavailable(why.clone()));
        }
    }
}

/// Runs as a task of the async runtime: waking a thousand tasks from the store thread would take most
/// of its time, while waking them from another task costs next to nothing.
pub(super) async fn run(
    mut committed: mpsc::UnboundedReceiver<Release>,
    events: Arc<Events>,
    mailbox: Arc<Mailbox>,
) {
    while let Some(release) = committed.recv().await {
        events.publish(release.first_event, release.events);
        let mut undelivered = Vec::new();
        for (responder, answer) in release.answers {
            if let Err(Answer::Fetched(jobs)) = responder.send(answer) {
                let claims = jobs.iter().map(|job| (job.claimed.seq, job.claimed.attempt));
                undelivered.extend(claims);
            }
        }
        if !undelivered.is_empty() {
            let jobs = undelivered.len();
            tracing::debug!(jobs, "a client left before its jobs arrived; they go back");
        }
        undo_claims(undelivered, false, &mailbox);
    }
}

/// Undoes claims that do not reach their worker: the jobs return to their queues. `partly_sent` is whether the
/// worker may have received a part of the answer.
pub(super) fn undo_claims(claims: Vec<(Seq, u32)>, partly_sent: bool, mailbox: &Mailbox) {
    if claims.is_empty() {
        return;
    }
    let undelivered = Request::tell(Command::Undelivered(Undelivered { claims, partly_sent }));
    if mailbox.put(Source::Server, Input::Request(undelivered)).is_err() {
        // The jobs become available when their reservations end.
        tracing::warn!("jobs that were not delivered stay reserved: the server stops");
    }
}
