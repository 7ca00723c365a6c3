//! A backup in the place of a data directory's database.

use std::path::{Path, PathBuf};

use crate::backup::{Copied, examine};
use crate::copy::{self, Stage};
use crate::header::Ways;
use crate::partial::Partial;
use crate::place::is_same;
use crate::set_aside::Old;
use crate::{CopyError, Snapshot, disk, open, owner};

#[derive(Debug, Clone)]
pub struct Restored {
    pub copied: Copied,
    /// Where the files that were there before are now.
    pub set_aside: Vec<PathBuf>,
}

/// Copies a backup into a directory that no server uses. The copy is complete, on the disk and
/// checked before anything else is touched, and then takes its place in one step.
pub fn restore(
    file: &Path,
    dir: &Path,
    replace: bool,
    tell: &mut dyn FnMut(Stage),
) -> Result<Restored, CopyError> {
    let target = dir.join("rota.db");
    if is_same(file, &target) {
        return Err(CopyError::Own { path: file.to_owned() });
    }
    let backup = Snapshot::of_file(file)?;
    let _lock = open::lock(dir)?;
    owner::hand_over(&dir.join("rota.lock"), dir);
    let old = Old::in_the_way(&target)?;
    if old.is_database() && !replace {
        return Err(CopyError::Exists { path: target });
    }
    let partial = Partial::create(dir.join("rota.db.restoring"))?;
    disk::demand_room(partial.path(), backup.bytes()?)?;
    copy::copy(&backup, partial.path(), partial.file(), Ways::WithLog, &mut |done, total| {
        tell(Stage::Copying { done, total });
        Ok(())
    })?;
    drop(backup);
    tell(Stage::Checking);
    let copied = examine(partial.path(), file)?;
    owner::hand_over(partial.path(), if old.is_database() { &target } else { dir });
    let set_aside = old.set_aside()?;
    partial.name(&target)?;
    Ok(Restored { copied, set_aside })
}
