//! Errors of `backup` and `restore`.

use rota_store_sqlite::{CopyError, OpenError};

use crate::Failure;

/// The data directory cannot be read.
pub(in crate::commands) fn open_failed(error: rota_storage::OpenError) -> CopyError {
    match error {
        rota_storage::OpenError::View(error) => error.into(),
        other => CopyError::Storage(other.to_string()),
    }
}

/// Why a copy failed, with the advice that both commands share.
pub(in crate::commands) fn failure(error: CopyError) -> Failure {
    let hint = match &error {
        CopyError::Open(OpenError::Corrupt { path, cause }) => {
            return Failure::error(format!("{} is not a Rota database: {cause}", path.display()));
        }
        CopyError::Open(_) | CopyError::Storage(_) | CopyError::Failed { .. } => None,
        CopyError::ServerFile { .. } => Some("Choose a file outside of the data directory."),
        CopyError::StrayFile { .. } => Some("Move it away, or choose another name."),
        CopyError::Busy { .. } => Some("Wait for the other one to end, or choose another name."),
        CopyError::InUse { .. } => Some("Close that program first; nothing was changed."),
        CopyError::NoSpace { .. } => Some("Free some space, or choose another disk."),
        CopyError::WalGrowing { .. } => {
            Some("Free some space there, or try again when the server has less to do.")
        }
        CopyError::Exists { .. } | CopyError::Damaged { .. } => None,
    };
    let failure = Failure::error(error.to_string());
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
