//! Opening a data directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rota_log::{Base, LogError, SegmentLog, SegmentName, SegmentOptions, highest_term, set_aside};
use rota_model::Durability;
use rota_store_sqlite::{LogRecord, LogStart, Options as ViewOptions, SqliteView, private_files};

use crate::replay::{self, Progress};
use crate::{OpenError, identity};

/// How a data directory is opened.
#[derive(Debug, Clone)]
pub struct Options {
    pub durability: Durability,
    /// Size of the reserve file that is deleted when the disk is full; 0 disables it.
    pub reserve_bytes: u64,
    /// Where segments are archived.
    pub archive: Option<PathBuf>,
}

/// Segments of the log are this large where the reserve allows it.
const SEGMENT_BYTES: u64 = 16 << 20;
const MIN_SEGMENT_BYTES: u64 = 256 << 10;

impl Options {
    /// On a full disk, the log goes on in the space of the reserve, so a segment is a fraction of that.
    fn segment_bytes(&self) -> u64 {
        match self.reserve_bytes {
            0 => SEGMENT_BYTES,
            bytes => (bytes / 4).clamp(MIN_SEGMENT_BYTES, SEGMENT_BYTES),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Fsync,
            reserve_bytes: ViewOptions::default().reserve_bytes,
            archive: None,
        }
    }
}

/// An open data directory. The view has applied everything that is in the log.
pub struct Storage {
    pub log: SegmentLog,
    pub view: SqliteView,
    /// The term of new records.
    pub term: u64,
}

/// The directory of the log in a data directory.
#[must_use]
pub fn log_directory(dir: &Path) -> PathBuf {
    dir.join("log")
}

/// Opens the log and the view in this directory, creates what is missing in a new one, migrates older
/// formats, and applies what the view lacks.
pub fn open(
    dir: &Path,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Storage, OpenError> {
    require_database_beside_log(dir)?;
    let mut view = SqliteView::open(dir, ViewOptions { reserve_bytes: options.reserve_bytes })?;
    let start = view.log_start()?;
    if let Some(archive) = &options.archive {
        claim_archive(archive, &start)?;
    }
    let mut log = match start.base {
        Some(base) => open_log(dir, &view, start, base, options)?,
        None => begin_log(dir, &view, start, options)?,
    };
    let term = view.log_start()?.term;
    // What is not in the archive yet must stay.
    replay::replay(&mut log, &mut view, options.archive.is_none(), progress)?;
    Ok(Storage { log, view, term })
}

/// A log without its database is not a new server: starting anew would lose all jobs silently.
fn require_database_beside_log(dir: &Path) -> Result<(), OpenError> {
    let (database, log) = (dir.join("rota.db"), log_directory(dir));
    let has_database = fs::metadata(&database).is_ok_and(|metadata| metadata.len() > 0);
    if has_database || is_empty(&log) {
        return Ok(());
    }
    Err(OpenError::MissingDatabase { database, log })
}

/// Creates the directory of the archive, and refuses that of another server.
fn claim_archive(archive: &Path, start: &LogStart) -> Result<(), OpenError> {
    private_files::create_directory(archive)
        .map_err(|cause| OpenError::Archive { directory: archive.to_owned(), cause })?;
    Ok(identity::claim(archive, start.id_key)?)
}

/// Opens the log that the database follows.
fn open_log(
    dir: &Path,
    view: &SqliteView,
    start: LogStart,
    base: u64,
    options: &Options,
) -> Result<SegmentLog, OpenError> {
    let directory = log_directory(dir);
    // A log keeps its last record, so one without records has never had any.
    let create = start.number == base;
    match SegmentLog::open(&directory, segment_options(start, options, create)) {
        Err(LogError::Range(cause)) if options.durability == Durability::Os => {
            // Without syncs, a power cut can leave the log behind its view. Nothing newer is left.
            tracing::warn!(%cause, "the log has lost its last records; a new one begins");
            begin_log(dir, view, start, options)
        }
        opened => {
            let log = opened.map_err(|cause| OpenError::log(directory.clone(), cause))?;
            identity::claim(&directory, start.id_key)?;
            Ok(log)
        }
    }
}

/// Begins a log behind the last batch of the database. What is in its place belongs to another history.
fn begin_log(
    dir: &Path,
    view: &SqliteView,
    start: LogStart,
    options: &Options,
) -> Result<SegmentLog, OpenError> {
    let directory = log_directory(dir);
    let failed = |cause| OpenError::log(directory.clone(), cause);
    if let Some(removed) = set_aside(&directory).map_err(failed)? {
        tracing::info!(to = %removed.kept_in.display(), "the log of another history is moved away");
    }
    let start = above_archived_terms(view, start, options)?;
    let log =
        SegmentLog::open(&directory, segment_options(start, options, true)).map_err(failed)?;
    identity::write(&directory, start.id_key)?;
    view.set_log_begun()?;
    Ok(log)
}

/// A new log does not go on under a term that the archive knows: its records are another history's.
fn above_archived_terms(
    view: &SqliteView,
    start: LogStart,
    options: &Options,
) -> Result<LogStart, OpenError> {
    let Some(archive) = &options.archive else { return Ok(start) };
    let archived = highest_term(archive);
    let archived = archived.map_err(|cause| OpenError::log(archive.clone(), cause))?;
    if archived < start.term {
        return Ok(start);
    }
    view.begin_term(archived + 1, start.last())?;
    Ok(view.log_start()?)
}

fn segment_options(start: LogStart, options: &Options, create: bool) -> SegmentOptions {
    SegmentOptions {
        segment_bytes: options.segment_bytes(),
        durability: match options.durability {
            Durability::Fsync => rota_log::Durability::Fsync,
            Durability::Os => rota_log::Durability::Os,
        },
        base: base(start.last()),
        create,
        ..SegmentOptions::default()
    }
}

/// The record that a log begins behind, or must have.
pub(crate) fn base(LogRecord { index, term, checksum }: LogRecord) -> Base {
    Base { index, term, checksum }
}

/// Whether there are no records.
fn is_empty(directory: &Path) -> bool {
    let is_segment = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| SegmentName::parse(&entry.file_name().to_string_lossy()).is_some())
    };
    fs::read_dir(directory).map_or(true, |mut entries| !entries.any(is_segment))
}
