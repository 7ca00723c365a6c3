//! The errors of opening a data directory.

use std::io;
use std::path::PathBuf;

use rota_log::LogError;
use rota_store::encoding::DecodeError;
use rota_store::{ApplyError, StoreError};

use crate::IdentityError;

/// The data directory cannot be used. Its log and its database were not changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    View(#[from] rota_store_sqlite::OpenError),
    #[error("{0}")]
    Read(#[from] StoreError),
    #[error("the log in {} cannot be used: {cause}; {advice}", directory.display())]
    Log { directory: PathBuf, cause: LogError, advice: &'static str },
    #[error("{} is missing, but there is a log in {}; put the database back, or rebuild it with `rota doctor --repair`, or move the log away to start anew", database.display(), log.display())]
    MissingDatabase { database: PathBuf, log: PathBuf },
    #[error("record {index} of the log cannot be applied: {cause}")]
    Apply { index: u64, cause: ApplyError },
    #[error("record {index} of the log cannot be read: {cause}")]
    Decode { index: u64, cause: DecodeError },
    #[error("the log cannot be read: {0}")]
    Replay(LogError),
    #[error("the archive {} cannot be used: {cause}; create it for the user that runs Rota, or choose another directory", directory.display())]
    Archive { directory: PathBuf, cause: io::Error },
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(
        "the database is at record {applied} and the log at {last}; try again when the server has caught up"
    )]
    Behind { applied: u64, last: u64 },
}

impl OpenError {
    pub(crate) fn log(directory: PathBuf, cause: LogError) -> Self {
        let advice = match &cause {
            LogError::Damaged(_) => {
                "it is left as it is: `rota doctor` shows what is damaged, and what can be saved"
            }
            LogError::Newer { .. } => {
                "it is left as it is: use the version of Rota that wrote it, or a newer one"
            }
            LogError::Range(_) | LogError::Missing(_) | LogError::Truncated { .. } => {
                "log and database belong together: put back the one that was lost, or restore a backup"
            }
            LogError::Io(_) => {
                "make it readable and writable for the user that runs Rota, and free some space on its disk"
            }
        };
        Self::Log { directory, cause, advice }
    }
}
