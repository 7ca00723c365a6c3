//! Why a segment was not archived.

use std::path::PathBuf;

use crate::{Damage, LogError};

/// Why a segment was not archived. The log keeps it, and it is tried again.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ArchiveError {
    #[error("no space left in the archive: {0}")]
    Full(String),
    #[error("{0}")]
    Log(#[from] LogError),
    #[error("the log itself is damaged: {0}")]
    SourceDamaged(Box<Damage>),
    #[error("{} was written, but reads differently", path.display())]
    ReadsDifferently { path: PathBuf },
    #[error("{} is there already, with other records: the archive belongs to another history", path.display())]
    Conflict { path: PathBuf },
    #[error(
        "the archive has a history of term {newest}, which is newer than term {term} of this server: another \
         server writes to it, or an older backup was put in place by hand"
    )]
    NewerTerm { newest: u64, term: u64 },
    #[error("{0}")]
    Io(String),
}
