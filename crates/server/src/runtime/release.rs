//! Letting answers go, all of a batch in one go.

use std::sync::Arc;

use rota_engine::{Command, Event};
use rota_model::Seq;
use tokio::sync::{mpsc, oneshot};

use super::Events;
use super::ask::{Answer, Ask, Input};
use super::mailbox::Mailbox;

/// Answers and events that wait for a commit.
#[derive(Default)]
pub(super) struct Release {
    pub answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    pub events: Vec<Event>,
}

impl Release {
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.events.is_empty()
    }

    /// Tells everyone that nothing came of it.
    pub fn fail(self, why: &super::Unavailable) {
        for (responder, _) in self.answers {
            let _ = responder.send(Answer::Unavailable(why.clone()));
        }
    }
}

/// Runs inside the async runtime: a store thread that woke each of a thousand tasks itself would
/// spend its time on that, while a task wakes its neighbours almost for nothing.
pub(super) async fn run(
    mut committed: mpsc::UnboundedReceiver<Release>,
    events: Arc<Events>,
    mailbox: Arc<Mailbox>,
) {
    while let Some(release) = committed.recv().await {
        events.publish(release.events);
        let mut undelivered = Vec::new();
        for (responder, answer) in release.answers {
            if let Err(Answer::Fetched(jobs)) = responder.send(answer) {
                let claims = jobs.iter().map(|job| (job.claimed.seq, job.claimed.attempt));
                undelivered.extend(claims);
            }
        }
        give_back(undelivered, &mailbox);
    }
}

/// The client had gone before its jobs arrived: they go back, as if nobody had asked.
fn give_back(claims: Vec<(Seq, u32)>, mailbox: &Mailbox) {
    if claims.is_empty() {
        return;
    }
    tracing::debug!(jobs = claims.len(), "a client left before its jobs arrived; they go back");
    let told = mailbox.put(Input::Tell(Ask::Command(Command::Undelivered(claims))));
    if told.is_err() {
        // The reservation will end by itself.
        tracing::warn!("jobs of a departed client stay reserved: the server is too busy");
    }
}
