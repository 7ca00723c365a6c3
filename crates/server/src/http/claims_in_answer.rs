//! Claimed jobs on their way to a worker: they go back to their queues unless their answer is written.

use std::sync::{Arc, Mutex, PoisonError};

use rota_model::Seq;

use super::App;

/// The claims in the answer to a fetch. Goes with the response to its connection, which says what became of
/// it. If nobody does, nothing of the answer was sent.
#[derive(Clone)]
pub(super) struct ClaimsInAnswer(Arc<Claims>);

struct Claims {
    app: Arc<App>,
    /// By job and attempt. Empty once it is known what became of them.
    claims: Mutex<Vec<(Seq, u32)>>,
}

impl ClaimsInAnswer {
    pub fn new(app: Arc<App>, claims: Vec<(Seq, u32)>) -> Self {
        Self(Arc::new(Claims { app, claims: Mutex::new(claims) }))
    }

    /// The kernel has taken the whole answer.
    pub fn written(&self) {
        self.0.take();
    }

    /// The kernel will not take the rest of the answer. `partly` is whether it has taken any of it.
    pub fn not_written(&self, partly: bool) {
        self.0.undo(partly);
    }
}

impl Claims {
    fn take(&self) -> Vec<(Seq, u32)> {
        std::mem::take(&mut self.claims.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn undo(&self, partly_sent: bool) {
        let claims = self.take();
        if !claims.is_empty() {
            let jobs = claims.len();
            tracing::debug!(jobs, partly_sent, "an answer was not written; its jobs go back");
            self.app.undo_claims(claims, partly_sent);
        }
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        self.undo(false);
    }
}
