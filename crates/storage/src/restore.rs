//! Restoring a backup over a data directory that may have a log.

use std::path::Path;

use rota_store_sqlite::{CopyError, Restored, Server, Stage, directory_status};

use crate::snapshot;

/// Copies a backup into a directory that no server uses, like [`rota_store_sqlite::restore`]. The old database is first
/// brought up to date with its log, so that it is whole without it. The new one begins a log of its own.
pub fn restore(
    file: &Path,
    dir: &Path,
    replace: bool,
    progress: &mut dyn FnMut(Stage),
) -> Result<Restored, CopyError> {
    if replace && is_stopped(dir) {
        // One that cannot be opened is set aside as it is.
        if let Err(error) = snapshot(dir) {
            tracing::debug!(%error, "the old database is set aside without the rest of its log");
        }
    }
    rota_store_sqlite::restore(file, dir, replace, progress)
}

fn is_stopped(dir: &Path) -> bool {
    dir.join("rota.db").exists()
        && directory_status(dir).is_ok_and(|status| status.server == Server::Stopped)
}
