//! Errors of `restore`.

use rota_log::HistoryError;
use rota_storage::{OpenError as StorageError, RestoreError};
use rota_store_sqlite::{CopyError, OpenError};

use super::copy;
use crate::Failure;

/// Why a restore failed, and what to do about it.
pub(in crate::commands) fn failure(error: RestoreError) -> Failure {
    let hint = match &error {
        RestoreError::Copy(_) => return copy_failure(error),
        RestoreError::Open(StorageError::View(_)) => return view_failure(error),
        RestoreError::History { cause: HistoryError::Gap { .. }, reached: None } => {
            "Take a newer backup, or look for the files that are missing. Nothing was changed."
        }
        RestoreError::History { cause: HistoryError::Abandoned { .. }, .. } => {
            "Take a backup that was made earlier, or after the restore. Nothing was changed."
        }
        RestoreError::History { reached: Some(_), .. } => {
            "Choose an earlier --until, or look for an intact copy of that file. Nothing was changed."
        }
        RestoreError::History { .. } => "Nothing was changed.",
        RestoreError::BackupIsLater { .. } => "Take an older backup. Nothing was changed.",
        RestoreError::NoArchive { .. } => "Correct --archive. Nothing was changed.",
        RestoreError::NoBeginning { .. } => "Name a backup with --from. Nothing was changed.",
        RestoreError::Record { .. } => "The server can be started; make another backup then.",
        _ => return Failure::error(error.to_string()),
    };
    Failure::error(error.to_string()).hint(hint)
}

fn view_failure(error: RestoreError) -> Failure {
    match error {
        RestoreError::Open(StorageError::View(error)) => {
            copy_failure(CopyError::Open(error).into())
        }
        other => Failure::error(other.to_string()),
    }
}

fn copy_failure(error: RestoreError) -> Failure {
    let RestoreError::Copy(error) = error else { return Failure::error(error.to_string()) };
    let hint = match &error {
        CopyError::Exists { .. } => {
            "Add --replace to put the new one in its place; it is set aside, not deleted."
        }
        CopyError::Open(OpenError::Locked { .. }) => {
            "A server cannot be restored while it runs; nothing was changed."
        }
        CopyError::Damaged { .. } | CopyError::Open(OpenError::Corrupt { .. }) => {
            "Nothing was changed; take another backup."
        }
        _ => return copy::failure(error),
    };
    copy::failure(error).hint(hint)
}
