//! Waits until one job has ended, by following the events.

use rota_model::Seq;
use tokio::sync::watch;

use super::super::Access;
use crate::runtime;

/// Notices events from its creation on.
pub(in super::super) struct JobEnd<'a> {
    app: &'a Access,
    seq: Seq,
    end: runtime::JobEnd,
    ending: watch::Receiver<bool>,
}

impl<'a> JobEnd<'a> {
    pub fn new(app: &'a Access, seq: Seq) -> Self {
        Self { app, seq, end: app.turns().job_end(seq), ending: app.events().ending() }
    }

    /// Returns when the job may have ended, or the server is about to stop.
    pub async fn wait(&mut self) {
        tokio::select! {
            () = self.end.wait() => self.end = self.app.turns().job_end(self.seq),
            _ = self.ending.wait_for(|ended| *ended) => {}
        }
    }

    pub fn is_closing(&self) -> bool {
        *self.ending.borrow()
    }
}
