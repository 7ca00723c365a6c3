//! Why a restore failed.

use std::io;
use std::path::PathBuf;

use rota_log::{HistoryError, LogError};
use rota_model::Millis;
use rota_store::StoreError;
use rota_store_sqlite::CopyError;

use crate::{IdentityError, OpenError};

/// A restore failed. The old database was not changed, except that it may have applied the rest of its log.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Log(#[from] LogError),
    #[error("the backup has everything up to {made}, which is later than {until}")]
    BackupIsLater { made: Millis, until: Millis },
    #[error("there is no archive in {}", directory.display())]
    NoArchive { directory: PathBuf },
    #[error("without a backup, the log must go back to the first record, but {}", begins(*first))]
    NoBeginning { first: u64 },
    /// The history cannot be read to the moment asked for. `reached` has the last record before.
    #[error("{cause}{}", up_to(reached))]
    History { cause: HistoryError, reached: Option<(u64, Millis)> },
    #[error("the restore is complete, but its backup cannot be recorded in {}: {cause}", directory.display())]
    Record { directory: PathBuf, cause: io::Error },
}

fn begins(first: u64) -> String {
    match first {
        0 => "there are no records".to_owned(),
        first => format!("it begins at record {first}"),
    }
}

fn up_to(reached: &Option<(u64, Millis)>) -> String {
    match reached {
        None => String::new(),
        Some((index, time)) => {
            format!("; what precedes it can be restored: record {index} was committed at {time}")
        }
    }
}
