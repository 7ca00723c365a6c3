//! A worker that fetches jobs, runs a handler for each, and reports the outcomes.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use rota_client::worker::{Options, Outcome, Shutdown, Stop, Worker};
//! use rota_client::{Client, Error, Job, WithJson};
//!
//! async fn handle(job: Arc<WithJson<Job>>, _stop: Stop) -> Outcome {
//!     println!("{}: {}", job.kind, job.args);
//!     Outcome::done()
//! }
//!
//! # async fn example() -> Result<(), Error> {
//! let client = Client::new("http://127.0.0.1:8080")?;
//! let (_trigger, shutdown) = Shutdown::new();
//! Worker::new(client, Options::new(["email"])).run(handle, shutdown).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The worker never runs more jobs at once than configured. It extends a job's reservation as long as
//! the handler runs. It repeats the report of an outcome until the server has accepted or rejected it,
//! or the reservation must have ended. Jobs that are unfinished when the worker ends are returned to
//! their queues.

mod backoff;
mod event;
mod execution;
mod fetching;
mod handler;
mod handlers;
mod heartbeat;
mod identity;
mod options;
mod outcome;
mod register;
mod report;
mod run;
mod running_jobs;
mod shutdown;
mod start;
mod stop_signal;
mod summary;

pub use event::Event;
pub use execution::{Ending, Finished};
pub use handler::Handler;
pub use handlers::Handlers;
pub use options::Options;
pub use outcome::{Failure, Outcome};
pub use report::{Reported, Taken};
pub use shutdown::{Shutdown, Trigger};
pub use start::Worker;
pub use stop_signal::{Stop, StopReason};
pub use summary::Summary;
