//! Whatever goes wrong behind the seam, before it is put into the words of the caller.

use std::path::Path;

use rota_store::StoreError;
use rusqlite::{ErrorCode, ffi};

use crate::OpenError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("{}", in_words(.0))]
    Sqlite(#[from] rusqlite::Error),
    /// The file is sound to SQLite, but holds what Rota never wrote.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// A batch contradicts what is stored.
    #[error("{0}")]
    Refused(String),
}

impl Fault {
    pub(crate) fn code(&self) -> Option<ErrorCode> {
        match self {
            Fault::Sqlite(error) => error.sqlite_error_code(),
            Fault::Damaged(_) | Fault::Refused(_) => None,
        }
    }

    pub(crate) fn at_open(self, path: &Path) -> OpenError {
        match self.code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) | None => {
                OpenError::corrupt(path, self.to_string())
            }
            Some(ErrorCode::DiskFull) => OpenError::no_space(path, self),
            Some(_) => OpenError::unusable(path, self),
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault.code() {
            // Without a code it is what Rota never wrote, or a value of the wrong type.
            None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::damaged(fault.to_string())
            }
            Some(_) => StoreError::new(fault.to_string()),
        }
    }
}

fn in_words(error: &rusqlite::Error) -> String {
    let Some(code) = error.sqlite_error() else {
        return format!("the database is damaged: {error}");
    };
    let prefix = match code.code {
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => "the database is damaged",
        ErrorCode::DiskFull => "the disk is full",
        ErrorCode::SystemIoFailure => "the disk failed",
        _ => "SQLite failed",
    };
    let meaning = ffi::code_to_str(code.extended_code);
    format!("{prefix}: {error} (code {}: {meaning})", code.extended_code)
}
