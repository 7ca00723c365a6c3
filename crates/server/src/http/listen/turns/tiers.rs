//! Where connections are polled: by the threads of the runtime, or in the background.
//!
//! The background has threads of low priority. They get the processors when nobody else wants them, so
//! that whoever keeps the server busy does not delay the others, and still gets what is left.

use std::sync::{Arc, Mutex};

use tokio::runtime::{Builder, Handle, Runtime};

use super::lock;
use crate::priority::{self, Priority};

/// A group of threads that polls connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tier {
    Front,
    Background,
}

/// The threads of both tiers. Cheap to clone.
#[derive(Clone)]
pub(in crate::http::listen) struct Tiers {
    front: Handle,
    /// In front.
    threads: usize,
    background: Option<Handle>,
    runtime: Arc<BackgroundRuntime>,
}

/// Until it is stopped, or nobody can use it anymore.
struct BackgroundRuntime(Mutex<Option<Runtime>>);

impl Tiers {
    /// The threads of the current runtime, and as many in the background: a tenant that is served there gets all
    /// that the others leave. If the background cannot be started, all connections are polled by the former.
    pub fn start() -> Self {
        let front = Handle::current();
        let threads = front.metrics().num_workers();
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("rota-background")
            .on_thread_start(|| priority::lower(Priority::Background))
            .enable_all()
            .build();
        if let Err(error) = &runtime {
            tracing::warn!(%error, "the threads of the background cannot be started");
        }
        let background = runtime.as_ref().ok().map(|runtime| runtime.handle().clone());
        Self {
            front,
            threads,
            background,
            runtime: Arc::new(BackgroundRuntime(Mutex::new(runtime.ok()))),
        }
    }

    /// The number of threads in front.
    pub fn threads(&self) -> usize {
        self.threads
    }

    pub(super) fn spawn(&self, tier: Tier, connection: impl Future<Output = ()> + Send + 'static) {
        let threads = match tier {
            Tier::Front => &self.front,
            Tier::Background => self.background.as_ref().unwrap_or(&self.front),
        };
        drop(threads.spawn(connection));
    }

    /// Stops the background. Connections that have not ended are cut off.
    pub fn stop(&self) {
        self.runtime.stop();
    }
}

impl BackgroundRuntime {
    fn stop(&self) {
        if let Some(runtime) = lock(&self.0).take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for BackgroundRuntime {
    fn drop(&mut self) {
        self.stop();
    }
}
