//! The error type used inside this crate, and its conversion to the public error types.

use std::path::Path;

use rota_sqlite_pages::{Damage, take_last};
use rota_store::StoreError;
use rusqlite::{ErrorCode, ffi};

use crate::OpenError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum InternalError {
    #[error("{}", describe(.0))]
    Sqlite(rusqlite::Error),
    /// A page does not match its checksum.
    #[error("the database is damaged: {0}")]
    Page(Damage),
    /// SQLite can read the file, but the data is not valid for Rota.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// A batch contradicts the stored data.
    #[error("{0}")]
    Rejected(String),
}

impl InternalError {
    pub(crate) fn code(&self) -> Option<ErrorCode> {
        match self {
            InternalError::Sqlite(error) => error.sqlite_error_code(),
            InternalError::Page(_) | InternalError::Corrupt(_) | InternalError::Rejected(_) => None,
        }
    }

    pub(crate) fn into_open_error(self, path: &Path) -> OpenError {
        match self.code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) | None => {
                OpenError::corrupt(path, self.to_string())
            }
            Some(ErrorCode::DiskFull) => OpenError::no_space(path, self),
            Some(_) => OpenError::unusable(path, self),
        }
    }
}

impl From<rusqlite::Error> for InternalError {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error().map(|error| error.extended_code);
        match code.filter(|code| *code == ffi::SQLITE_IOERR_DATA).and_then(|_| take_last()) {
            Some(damage) => InternalError::Page(damage),
            None => InternalError::Sqlite(error),
        }
    }
}

impl From<InternalError> for StoreError {
    fn from(error: InternalError) -> Self {
        match error.code() {
            // Without a SQLite code, the stored data is invalid or a column has the wrong type.
            None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::damaged(error.to_string())
            }
            Some(_) => StoreError::new(error.to_string()),
        }
    }
}

fn describe(error: &rusqlite::Error) -> String {
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
