//! Copying a snapshot to a file, page by page.
//!
//! All pages are read in the snapshot's read transaction, so the copy is consistent and never
//! restarts, however much a server writes. `VACUUM INTO` would rebuild every B-tree and keep the
//! server's write-ahead log from restarting for several times as long.

use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::check::{Damage, Rule};
use crate::header::JournalMode;
use crate::internal_error::InternalError;
use crate::page_kind::PageKind;
use crate::{CopyError, Snapshot};

/// Progress of a backup or a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// In bytes.
    Copying {
        done: u64,
        total: u64,
    },
    /// Records of a log, up to the one with this index.
    Applying {
        index: u64,
    },
    Checking,
}

const PAGES_PER_STEP: i32 = 512;
/// The copy is synced this often. Otherwise a server's next commit on the same disk could have to
/// wait for gigabytes to be written.
const BYTES_PER_SYNC: u64 = 32 << 20;

/// Copies the snapshot to the empty file `to`, which is already open as `file`, and syncs it.
/// `progress` is called after every step with the bytes copied and the total; an error from it
/// aborts the copy. `finish` may change the complete copy.
pub(crate) fn copy(
    from: &Snapshot,
    to: &Path,
    file: &File,
    journal_mode: JournalMode,
    finish: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    progress: &mut dyn FnMut(u64, u64) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    let failed = |error: rusqlite::Error| CopyError::failed(to, InternalError::from(error));
    let write_failed = |error: io::Error| CopyError::failed(to, error);
    let mut target = open(to, from.pages()).map_err(failed)?;
    let backup = Backup::new(from.conn(), &mut target).map_err(failed)?;
    let page: u32 =
        from.conn().pragma_query_value(None, "page_size", |row| row.get(0)).map_err(failed)?;
    let mut synced = 0;
    loop {
        let step = backup.step(PAGES_PER_STEP).map_err(|error| step_failed(from, to, error))?;
        let pages = backup.progress();
        let bytes = |pages: i32| u64::from(pages.max(0).unsigned_abs()) * u64::from(page);
        let done = bytes(pages.pagecount - pages.remaining);
        progress(done, bytes(pages.pagecount))?;
        match step {
            StepResult::Done => break,
            StepResult::More => {}
            // Cannot happen: the snapshot holds its lock, and nobody else uses the target.
            _ => return Err(CopyError::failed(to, "the database is locked")),
        }
        if done - synced >= BYTES_PER_SYNC {
            file.sync_data().map_err(write_failed)?;
            synced = done;
        }
    }
    drop(backup);
    finish(&target).map_err(failed)?;
    target.close().map_err(|(_, error)| failed(error))?;
    journal_mode.write(file, from.pages()).and_then(|()| file.sync_all()).map_err(write_failed)
}

/// A damaged page of the original is named as what it is.
fn step_failed(from: &Snapshot, to: &Path, error: rusqlite::Error) -> CopyError {
    match InternalError::from(error) {
        InternalError::Page(damage) => {
            let examples = vec![damage.to_string()];
            let damages = vec![Damage { rule: Rule::Page, count: 1, examples }];
            CopyError::Damaged { path: from.path().to_owned(), damages }
        }
        error => CopyError::failed(to, error),
    }
}

/// The copy has checksums if the original has.
fn open(to: &Path, pages: PageKind) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let target = pages.open(to, flags)?;
    // An incomplete copy is discarded, and `copy` syncs a complete one.
    target.pragma_update(None, "journal_mode", "off")?;
    target.pragma_update(None, "synchronous", "off")?;
    Ok(target)
}
