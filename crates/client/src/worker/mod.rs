//! A worker: takes jobs, runs a handler for each of them, and tells the server what became of it.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use rota_client::worker::{Options, Outcome, Shutdown, Stop, Worker};
//! use rota_client::{Client, Error, Job, Kept};
//!
//! async fn handle(job: Arc<Kept<Job>>, _stop: Stop) -> Outcome {
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
//! What holds: never more jobs at once than the options say; a reservation is extended for as long as
//! its handler runs; an outcome is repeated until the server has taken or refused it, or the
//! reservation must have ended; a job that is not done when the worker has to end goes back.

mod backoff;
mod event;
mod execution;
mod handler;
mod heart;
mod identity;
mod intake;
mod options;
mod outcome;
mod register;
mod report;
mod run;
mod running;
mod shutdown;
mod start;
mod stop;
mod summary;

pub use event::Event;
pub use execution::{Ending, Finished};
pub use handler::Handler;
pub use options::Options;
pub use outcome::{Failure, Outcome};
pub use report::{Reported, Taken};
pub use shutdown::{Shutdown, Trigger};
pub use start::Worker;
pub use stop::{Stop, StopReason};
pub use summary::Summary;
