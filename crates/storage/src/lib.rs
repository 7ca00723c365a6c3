//! A data directory: the log, the view that follows it, and what brings the two together.
//!
//! `log/` holds the segments of the log, `rota.db` is the view. A commit is an append to the log. The view is
//! applied behind it, so after a crash it may lack the newest records; opening the directory applies them.

mod error;
mod open;
mod replay;
mod restore;
mod snapshot;

pub use error::OpenError;
pub use open::{Options, Storage, log_directory, open};
pub use replay::{Progress, replay};
pub use restore::restore;
pub use snapshot::snapshot;
