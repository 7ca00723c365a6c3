//! Repairing a data directory: rebuilding its database, or doing without the damaged part of its log.
//!
//! Both begin a new term behind the last record that was saved. The next start moves the old log away, so whatever
//! happens meanwhile, it is either as it was or repaired.

mod prospect;

use std::path::{Path, PathBuf};

use rota_store::View;
use rota_store_sqlite::{LogRecord, Options as ViewOptions, SqliteView, Stage};

use crate::open::{base, log_directory};
use crate::replay::ready;
use crate::restore::{Applied, Sources, apply, restore_to};
use crate::{Moment, OpenError, RestoreError, RestoredTo};
pub use prospect::{Prospect, log_prospect, rebuild_prospect};

/// What a repair can draw on, besides the log of the directory.
#[derive(Debug, Clone, Default)]
pub struct RepairSources {
    pub backup: Option<PathBuf>,
    pub archive: Option<PathBuf>,
}

impl RepairSources {
    fn moment(&self) -> Moment {
        Moment {
            backup: self.backup.clone(),
            archive: self.archive.clone().filter(|directory| directory.is_dir()),
            until: None,
            up_to_damage: true,
        }
    }
}

/// Makes the database anew from a backup, the archive and the log, as far as they go. The old one is kept under
/// another name.
pub fn rebuild(
    dir: &Path,
    sources: &RepairSources,
    progress: &mut dyn FnMut(Stage),
) -> Result<RestoredTo, RestoreError> {
    restore_to(&sources.moment(), dir, true, progress)
}

/// Applies to the database what can be read of a damaged log, and has the next start begin a new one behind that.
/// Returns the last record that was saved.
pub fn mend_log(
    dir: &Path,
    sources: &RepairSources,
    progress: &mut dyn FnMut(Stage),
) -> Result<LogRecord, RestoreError> {
    let moment = sources.moment();
    let mut view =
        SqliteView::open(dir, ViewOptions { reserve_bytes: 0 }).map_err(OpenError::from)?;
    let start = view.log_start()?;
    let log = log_directory(dir);
    let history = Sources::find(moment.archive.as_deref(), &log, Some(start.id_key))?.history()?;
    let last = known(&history, start.last())?;
    let applied = match history.read_after(base(last)) {
        Ok(mut reader) => apply(&mut view, &mut reader, &moment, last, progress)?,
        Err(_) => Applied::nothing(last),
    };
    view.begin_term(start.term.max(history.highest_term()) + 1, applied.last)?;
    ready(view.close())?;
    Ok(applied.last)
}

/// The record that a database has applied last, with its checksum if the log knows it.
fn known(history: &rota_log::History, last: LogRecord) -> Result<LogRecord, RestoreError> {
    if last.checksum != 0 {
        return Ok(last);
    }
    let found = history.base_at(last.index)?.filter(|found| found.term == last.term);
    Ok(found.map_or(last, |found| LogRecord { checksum: found.checksum, ..last }))
}
