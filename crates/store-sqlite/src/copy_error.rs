//! The errors of a backup or a restore.

use std::path::{Path, PathBuf};

use crate::OpenError;
use crate::check::Damage;

const MIB: u64 = 1 << 20;

/// A backup or a restore failed, and nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database could not be brought up to date with its log.
    #[error("{0}")]
    Storage(String),
    #[error("{} exists already", path.display())]
    Exists { path: PathBuf },
    #[error("{} is a file of the data directory itself", path.display())]
    ServerFile { path: PathBuf },
    /// A `-wal` or `-journal` file with the name of the target, which SQLite would apply to the copy.
    #[error("{} lies beside it and belongs to another database", path.display())]
    StrayFile { path: PathBuf },
    #[error("{} is being written by another process", path.display())]
    Busy { path: PathBuf },
    #[error("{} is open in another program", path.display())]
    InUse { path: PathBuf },
    #[error("{} needs {} MiB, and there are {} MiB free on its disk", path.display(), needed.div_ceil(MIB), free / MIB)]
    NoSpace { path: PathBuf, needed: u64, free: u64 },
    #[error("the disk of {} was running out of room for the server's log, which grows while a copy is made", dir.display())]
    WalGrowing { dir: PathBuf },
    #[error("the copy of {} is damaged: {}", path.display(), join(damages))]
    Damaged { path: PathBuf, damages: Vec<Damage> },
    #[error("{} cannot be {what}: {cause}", path.display())]
    Failed { path: PathBuf, what: &'static str, cause: String },
}

impl CopyError {
    pub(crate) fn failed(path: &Path, cause: impl ToString) -> Self {
        Self::Failed { path: path.to_owned(), what: "written", cause: cause.to_string() }
    }

    pub(crate) fn not_moved_away(path: &Path, cause: &std::io::Error) -> Self {
        Self::Failed { path: path.to_owned(), what: "set aside", cause: cause.to_string() }
    }
}

fn join(damages: &[Damage]) -> String {
    damages.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
