//! Restoring a data directory that may have a log: to a backup, or to any later moment.

mod error;
mod until;

use std::path::Path;

use rota_store_sqlite::{
    CopyError, Restoration, Restored, Server, Snapshot, Stage, directory_status,
};

use crate::{BackupRecord, snapshot};
pub use error::RestoreError;
pub(crate) use until::{Applied, Sources, apply};
pub use until::{Moment, RestoredTo, restore_to};

/// Copies a backup into a directory that no server uses. The old database is first brought up to date with its log,
/// so that it is whole without it. The new one begins a log of its own.
pub fn restore(
    file: &Path,
    dir: &Path,
    replace: bool,
    progress: &mut dyn FnMut(Stage),
) -> Result<Restored, RestoreError> {
    let restoration = begin(Some(file), dir, replace)?;
    restoration.copy(file, progress)?;
    let restored = restoration.install(file, progress)?;
    record_backup(dir, Some(file), &restored)?;
    Ok(restored)
}

/// A file that is no backup is refused before anything is made.
fn begin(file: Option<&Path>, dir: &Path, replace: bool) -> Result<Restoration, RestoreError> {
    if let Some(file) = file {
        drop(Snapshot::of_file(file).map_err(CopyError::from)?);
    }
    if replace && is_stopped(dir) {
        // One that cannot be opened is set aside as it is.
        if let Err(error) = snapshot(dir) {
            tracing::debug!(%error, "the old database is set aside without the rest of its log");
        }
    }
    Ok(Restoration::begin(dir, replace)?)
}

/// From now on, the backup that was restored is the newest: later ones belong to a history that was abandoned.
fn record_backup(dir: &Path, file: Option<&Path>, restored: &Restored) -> Result<(), RestoreError> {
    let record = file.and_then(|file| {
        let made = until::modified(file)?;
        BackupRecord::new(file, &restored.copied, made)
    });
    let written = match record {
        Some(record) => record.write(dir),
        None => BackupRecord::remove(dir),
    };
    written.map_err(|cause| RestoreError::Record { directory: dir.to_owned(), cause })
}

fn is_stopped(dir: &Path) -> bool {
    dir.join("rota.db").exists()
        && directory_status(dir).is_ok_and(|status| status.server == Server::Stopped)
}
