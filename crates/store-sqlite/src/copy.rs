//! Copying a snapshot, page by page.
//!
//! The pages are read inside the snapshot's one read transaction, so the copy is of one moment
//! and never starts over, however much a server writes. Not `VACUUM INTO`, which would rebuild
//! every tree and so hold the server's log open several times as long.

use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::fault::Fault;
use crate::header::Ways;
use crate::{CopyError, Snapshot};

/// What a copy is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Copying { done: u64, total: u64 },
    Checking,
}

const PAGES_PER_STEP: i32 = 512;
/// Forced to the disk this often, so that a server's next commit on the same disk does not have to
/// wait until gigabytes have been written.
const BYTES_PER_SYNC: u64 = 32 << 20;

/// Copies into an empty file, which is open here as `file` too, and forces it to the disk.
/// `watch` is told after every step how far it is, and can end it.
pub(crate) fn copy(
    from: &Snapshot,
    to: &Path,
    file: &File,
    ways: Ways,
    watch: &mut dyn FnMut(u64, u64) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    let failed = |error: rusqlite::Error| CopyError::failed(to, Fault::from(error));
    let write_failed = |error: io::Error| CopyError::failed(to, error);
    let mut target = open(to).map_err(failed)?;
    let backup = Backup::new(from.conn(), &mut target).map_err(failed)?;
    let page: u32 =
        from.conn().pragma_query_value(None, "page_size", |row| row.get(0)).map_err(failed)?;
    let mut synced = 0;
    loop {
        let step = backup.step(PAGES_PER_STEP).map_err(failed)?;
        let pages = backup.progress();
        let bytes = |pages: i32| u64::from(pages.max(0).unsigned_abs()) * u64::from(page);
        let done = bytes(pages.pagecount - pages.remaining);
        watch(done, bytes(pages.pagecount))?;
        match step {
            StepResult::Done => break,
            StepResult::More => {}
            // The snapshot is held and the target is ours alone.
            _ => return Err(CopyError::failed(to, "the database is locked")),
        }
        if done - synced >= BYTES_PER_SYNC {
            file.sync_data().map_err(write_failed)?;
            synced = done;
        }
    }
    drop(backup);
    target.close().map_err(|(_, error)| failed(error))?;
    ways.write(file).and_then(|()| file.sync_all()).map_err(write_failed)
}

fn open(to: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let target = Connection::open_with_flags(to, flags)?;
    // A copy that is cut short is thrown away; one that is complete is forced to the disk below.
    target.pragma_update(None, "journal_mode", "off")?;
    target.pragma_update(None, "synchronous", "off")?;
    Ok(target)
}
