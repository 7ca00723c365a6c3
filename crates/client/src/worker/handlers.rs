//! One handler for each job type.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use super::{Failure, Handler, Outcome, Stop};
use crate::{Job, TypedJob, WithJson};

type Handling = Pin<Box<dyn Future<Output = Outcome> + Send>>;
type Boxed = Box<dyn Fn(Arc<WithJson<Job>>, Stop) -> Handling + Send + Sync>;

/// Chooses the handler by the job's type.
///
/// ```
/// # use rota_client::{TypedJob, worker::{Handlers, Outcome}};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct SendEmail { to: String }
/// # impl TypedJob for SendEmail { const KIND: &'static str = "email.send"; }
/// let handlers = Handlers::new()
///     .on_typed(|email: SendEmail, _job, _stop| async move {
///         println!("to {}", email.to);
///         Outcome::done()
///     })
///     .on("report.build", |job, _stop| async move { Outcome::done_with(&job.id) });
/// ```
///
/// A job of another type fails with the error `no_handler` and is retried as its policy says, since another worker
/// may have a handler for it.
#[derive(Default)]
pub struct Handlers {
    by_kind: HashMap<String, Boxed>,
}

impl Handlers {
    /// No handlers yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the handler for a job type, or replaces it.
    #[must_use]
    pub fn on<F, Running>(mut self, kind: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Arc<WithJson<Job>>, Stop) -> Running + Send + Sync + 'static,
        Running: Future<Output = Outcome> + Send + 'static,
    {
        let boxed: Boxed = Box::new(move |job, stop| Box::pin(handler(job, stop)));
        self.by_kind.insert(kind.into(), boxed);
        self
    }

    /// Adds the handler for jobs of a Rust type. Jobs whose arguments do not fit the type fail for good.
    #[must_use]
    pub fn on_typed<T, F, Running>(self, handler: F) -> Self
    where
        T: TypedJob,
        F: Fn(T, Arc<WithJson<Job>>, Stop) -> Running + Send + Sync + 'static,
        Running: Future<Output = Outcome> + Send + 'static,
    {
        self.on(T::KIND, move |job, stop| {
            let running = job.value::<T>().map(|value| handler(value, job, stop));
            async move {
                match running {
                    Ok(running) => running.await,
                    Err(cause) => {
                        Failure::new("bad_arguments", cause.to_string()).no_retry().into()
                    }
                }
            }
        })
    }
}

impl Handler for Handlers {
    async fn handle(&self, job: Arc<WithJson<Job>>, stop: Stop) -> Outcome {
        match self.by_kind.get(&job.kind) {
            Some(handler) => handler(job, stop).await,
            None => {
                let text = format!("this worker has no handler for jobs of type '{}'", job.kind);
                Failure::new("no_handler", text).into()
            }
        }
    }
}
