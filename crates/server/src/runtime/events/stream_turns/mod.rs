//! StreamTurns: which streams read new events next, and how many at a time.
//!
//! If every event woke every stream, a thousand streams would keep the processors from everything else
//! for tens of milliseconds. So one task looks at new events and wakes the streams that they may be for:
//! a tenant's streams are woken by events of that tenant only. They read in rounds, a few at a time, the
//! tenants in turn; between the slices of a round other tasks run, and rounds take up a part of the time
//! only. A stream that has to wait loses nothing: its events stay in the ring.

mod lines;
mod rounds;

use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use rota_model::{Seq, TenantId};
use tokio::runtime::Handle as Tokio;
use tokio::sync::{Notify, oneshot};

use self::lines::{Lines, Owner};
use super::Events;

/// The turns of all streams of a server.
pub struct StreamTurns {
    shared: Arc<Shared>,
    started: Once,
    /// Where the turns are given. A caller may be served elsewhere, and all streams would wait for that.
    runtime: Option<Tokio>,
}

struct Shared {
    events: Arc<Events>,
    lines: Mutex<Lines>,
    /// A stream has got in line and has something to read.
    ready: Notify,
    /// All turns under way have ended.
    finished: Notify,
}

impl StreamTurns {
    /// Turns that are given in the current async runtime; if there is none, in that of the first stream.
    #[must_use]
    pub fn new(events: Arc<Events>) -> Self {
        let lines = Mutex::new(Lines::new(events.next_number()));
        let (ready, finished) = (Notify::new(), Notify::new());
        let shared = Arc::new(Shared { events, lines, ready, finished });
        Self { shared, started: Once::new(), runtime: Tokio::try_current().ok() }
    }

    /// Runs the task of a stream. It is not one of its connection, which may be served in the background: in
    /// its turn, others wait for it.
    pub fn spawn(&self, stream: impl Future<Output = ()> + Send + 'static) {
        match &self.runtime {
            Some(runtime) => drop(runtime.spawn(stream)),
            None => drop(tokio::spawn(stream)),
        }
    }

    /// Gets in line for a stream that has seen all events before `from`. It gets its turn when there is
    /// something that it may be interested in. Must be called inside the async runtime.
    #[must_use]
    pub fn wait(&self, tenant: Option<&TenantId>, from: u64) -> Waiting {
        self.start();
        let owner: Owner = tenant.map(|id| Arc::from(&**id));
        let (sender, turn) = oneshot::channel();
        let mut lines = self.shared.lines();
        let (ticket, is_ready) = lines.add(owner.clone(), from, sender);
        drop(lines);
        if is_ready {
            self.shared.ready.notify_one();
        }
        Waiting { shared: self.shared.clone(), owner, ticket, turn }
    }

    /// Tells when a job may have ended, by events from now on.
    #[must_use]
    pub fn job_end(&self, seq: Seq) -> JobEnd {
        self.start();
        let (sender, ended) = oneshot::channel();
        let mut lines = self.shared.lines();
        let ticket = lines.add_end(seq, sender);
        let is_behind = lines.scanned() < self.shared.events.next_number();
        drop(lines);
        if is_behind {
            self.shared.ready.notify_one();
        }
        JobEnd { shared: self.shared.clone(), seq, ticket, ended }
    }

    fn start(&self) {
        self.started.call_once(|| {
            self.spawn(rounds::run(self.shared.clone()));
        });
    }
}

impl Shared {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that waits for its turn. Dropping it leaves the line.
pub struct Waiting {
    shared: Arc<Shared>,
    owner: Owner,
    ticket: u64,
    turn: oneshot::Receiver<StreamTurn>,
}

impl Waiting {
    /// Completes when the stream may read.
    pub async fn turn(&mut self) -> StreamTurn {
        match (&mut self.turn).await {
            Ok(turn) => turn,
            // The server stops, of which the stream hears otherwise.
            Err(_) => std::future::pending().await,
        }
    }

    /// The number of the first event that may be for this stream, if all before it were looked at and are
    /// for others.
    #[must_use]
    pub fn passed(&self) -> Option<u64> {
        self.shared.lines().passed(&self.owner, self.ticket)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared.lines().remove(&self.owner, self.ticket);
    }
}

/// A stream's turn to read. It ends when this is dropped, which must not wait for the client.
pub struct StreamTurn {
    shared: Arc<Shared>,
    from: u64,
}

impl StreamTurn {
    /// Events before this number that the stream has not seen are not for it.
    #[must_use]
    pub fn from(&self) -> u64 {
        self.from
    }
}

impl Drop for StreamTurn {
    fn drop(&mut self) {
        if self.shared.lines().end_turn() {
            self.shared.finished.notify_one();
        }
    }
}

/// Waits for the end of a job. Dropping it ends the wait.
pub struct JobEnd {
    shared: Arc<Shared>,
    seq: Seq,
    ticket: u64,
    ended: oneshot::Receiver<()>,
}

impl JobEnd {
    /// Completes when the job may have ended.
    pub async fn wait(&mut self) {
        if (&mut self.ended).await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for JobEnd {
    fn drop(&mut self) {
        self.shared.lines().remove_end(self.seq, self.ticket);
    }
}
