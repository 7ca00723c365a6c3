use std::sync::Arc;
use std::time::Duration;

use super::register::register;
use super::run::Run;
use super::shutdown::Phase;
use super::{Event, Handler, Options, Shutdown, Summary};
use crate::{Client, Error};

/// Servers hand out no more at once, and take no more in a heartbeat.
const MOST_JOBS: u32 = 1_000;
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A worker that has not begun yet.
pub struct Worker {
    pub(super) client: Client,
    pub(super) options: Options,
    pub(super) tell: Box<dyn Fn(&Event<'_>) + Send + Sync>,
}

impl Worker {
    /// A worker that has not started. It registers and fetches once it runs.
    pub fn new(client: Client, mut options: Options) -> Self {
        options.concurrency = options.concurrency.clamp(1, MOST_JOBS);
        options.wait = options.wait.min(LONGEST_WAIT);
        Self { client, options, tell: Box::new(|_| ()) }
    }

    /// Calls this for everything that happens.
    pub fn on_event(mut self, tell: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.tell = Box::new(tell);
        self
    }

    /// Works until there is a reason to end. An error means that the server was away at the start,
    /// or that it refuses to give this worker any jobs.
    pub async fn run(
        self,
        handler: impl Handler,
        mut shutdown: Shutdown,
    ) -> Result<Summary, Error> {
        let welcome = tokio::select! {
            welcome = register(&self.client, &self.options, &*self.tell) => welcome?,
            () = told_to_end(&mut shutdown) => return Ok(Summary::default()),
        };
        (self.tell)(&Event::Ready { worker_id: &self.options.id });
        Run::new(self, Arc::new(handler), welcome.as_ref()).until_it_ends(shutdown).await
    }
}

async fn told_to_end(shutdown: &mut Shutdown) {
    while shutdown.phase() < Phase::Draining {
        shutdown.changed().await;
    }
}
