//! The errors of opening a data directory.

use std::path::{Path, PathBuf};

/// The data directory cannot be used. An existing database was not changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the data directory {} is in use by another server{}; stop it, or choose another directory", dir.display(), with_pid(*pid))]
    Locked { dir: PathBuf, pid: Option<u32> },
    #[error("there is no Rota database at {}", path.display())]
    Nothing { path: PathBuf },
    #[error("{} cannot be used: {cause}; {advice}", path.display())]
    Unusable { path: PathBuf, cause: String, advice: &'static str },
    #[error("{} cannot be read as a Rota database: {cause}; it is left as it is: restore it from a backup, or move it away to start anew", path.display())]
    Corrupt { path: PathBuf, cause: String },
    #[error("{} has format {found}, and this version of Rota knows formats up to {known}; it is left as it is: use the version of Rota that wrote it, or a newer one", path.display())]
    NewerFormat { path: PathBuf, found: u32, known: u32 },
}

impl OpenError {
    pub(crate) fn unusable(path: &Path, cause: impl ToString) -> Self {
        Self::Unusable {
            path: path.to_owned(),
            cause: cause.to_string(),
            advice: "make it readable and writable for the user that runs Rota, or choose another directory",
        }
    }

    pub(crate) fn no_space(path: &Path, cause: impl ToString) -> Self {
        Self::Unusable {
            path: path.to_owned(),
            cause: cause.to_string(),
            advice: "free some space on its disk, or choose another directory",
        }
    }

    /// Why the view cannot be used, if that is because it is damaged: a copy from a backup, or one that is built anew,
    /// could be.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        match self {
            Self::Corrupt { cause, .. } => Some(cause),
            _ => None,
        }
    }

    pub(crate) fn corrupt(path: &Path, cause: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), cause: cause.into() }
    }
}

fn with_pid(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}
