//! Errors that prevent a run.

use std::{io, path::PathBuf};

/// Why a run could not start. A case that fails is no such error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read the suites in {}: {source}", path.display())]
    Suites { path: PathBuf, source: io::Error },
    #[error("no case was selected in {}", .0.display())]
    NothingSelected(PathBuf),
    #[error("--only {0} selects no case")]
    PatternSelectsNothing(String),
    #[error("cannot read the known failures: {0}")]
    Known(String),
    #[error("there is no server at {}", .0.display())]
    NoServer(PathBuf),
}
