//! Code shared by `backup` and `restore`.

mod failure;
mod progress;
mod summary;

pub(super) use failure::{failure, open_failed};
pub(super) use progress::Progress;
pub(super) use summary::{describe, json, warn};
