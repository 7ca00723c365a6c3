//! Configuring and starting a worker.

use std::sync::Arc;
use std::time::Duration;

use super::register::register;
use super::run::Run;
use super::shutdown::Phase;
use super::{Event, Handler, Options, Shutdown, Summary};
use crate::{Client, Error};

/// Servers return no more jobs per fetch, and accept no more per heartbeat.
const MOST_JOBS: u32 = 1_000;
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A worker that has not started yet.
pub struct Worker {
    pub(super) client: Client,
    pub(super) options: Options,
    pub(super) on_event: Box<dyn Fn(&Event<'_>) + Send + Sync>,
}

impl Worker {
    /// Creates a worker, which registers and fetches once it runs.
    pub fn new(client: Client, mut options: Options) -> Self {
        options.concurrency = options.concurrency.clamp(1, MOST_JOBS);
        options.wait = options.wait.min(LONGEST_WAIT);
        // The worker repeats its requests itself, and says so.
        let client = client.without_retries();
        Self { client, options, on_event: Box::new(|_| ()) }
    }

    /// Sets the callback for events.
    pub fn on_event(mut self, callback: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.on_event = Box::new(callback);
        self
    }

    /// Runs until shutdown, or until the options end the worker. Returns an error if the server was
    /// unreachable at startup or rejects the worker's fetches.
    pub async fn run(
        self,
        handler: impl Handler,
        mut shutdown: Shutdown,
    ) -> Result<Summary, Error> {
        let welcome = tokio::select! {
            welcome = register(&self.client, &self.options, &*self.on_event) => welcome?,
            () = shutdown_requested(&mut shutdown) => return Ok(Summary::default()),
        };
        (self.on_event)(&Event::Ready { worker_id: &self.options.id });
        Run::new(self, Arc::new(handler), welcome.as_ref()).run(shutdown).await
    }
}

async fn shutdown_requested(shutdown: &mut Shutdown) {
    while shutdown.phase() < Phase::Draining {
        shutdown.changed().await;
    }
}
