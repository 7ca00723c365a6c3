//! Restoring the data as of any moment: a backup, and the records that were committed after it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rota_log::{Entry, History, HistoryReader};
use rota_model::{IdKey, Millis};
use rota_store::encoding::decode;
use rota_store::{ApplyError, Batch, StoreError, View};
use rota_store_sqlite::{
    LogRecord, Options as ViewOptions, Restoration, Restored, Snapshot, SqliteView, Stage,
};

use super::{RestoreError, begin, record_backup};
use crate::OpenError;
use crate::identity::{IdentityError, read_id_key};
use crate::open::{base, log_directory};
use crate::replay::ready;

/// What a restore starts from, and how far it goes.
#[derive(Debug, Clone, Default)]
pub struct Moment {
    /// Without a backup, the log must go back to its beginning.
    pub backup: Option<PathBuf>,
    pub archive: Option<PathBuf>,
    /// The last time whose records are applied; `None` applies all.
    pub until: Option<Millis>,
    /// Whether to stop before what is damaged or missing, instead of failing.
    pub up_to_damage: bool,
}

/// The result of a restore to a moment.
#[derive(Debug)]
pub struct RestoredTo {
    pub restored: Restored,
    /// The last record that was applied.
    pub last: LogRecord,
    /// When that record was committed.
    pub time: Millis,
    /// How many records were applied to the backup.
    pub records: u64,
    /// Whether the history ends with that record.
    pub is_newest: bool,
}

/// Restores the data as of a moment into a directory that no server uses. The records come from the archive and from
/// the log that is still in the directory. The restored database begins a new term, so what was committed after the
/// moment is abandoned and never applied again.
pub fn restore_to(
    moment: &Moment,
    dir: &Path,
    replace: bool,
    progress: &mut dyn FnMut(Stage),
) -> Result<RestoredTo, RestoreError> {
    if let Some(directory) = moment.archive.as_ref().filter(|directory| !directory.is_dir()) {
        return Err(RestoreError::NoArchive { directory: directory.clone() });
    }
    let restoration = begin(moment.backup.as_deref(), dir, replace)?;
    let key = match &moment.backup {
        Some(file) => copy_backup(&restoration, file, moment.until, progress)?,
        None => None,
    };
    let log = log_directory(dir);
    let sources = Sources::find(moment.archive.as_deref(), &log, key)?;
    let history = sources.history()?;
    let mut view = SqliteView::open(restoration.staging(), ViewOptions { reserve_bytes: 0 })
        .map_err(OpenError::from)?;
    if moment.backup.is_none() {
        begin_at_first_record(&view, &sources, &history)?;
    }
    let last = view.log_start()?.last();
    let applied = match history.read_after(base(last)) {
        Ok(mut reader) => apply(&mut view, &mut reader, moment, last, progress)?,
        Err(_) if moment.up_to_damage => Applied::nothing(last),
        Err(cause) => return Err(RestoreError::History { cause, reached: None }),
    };
    let old_term = restoration.old_term().max(view.log_start()?.term - 1);
    view.begin_term(old_term.max(history.highest_term()) + 1, applied.last)?;
    ready(view.close())?;
    let made_from = moment.backup.clone().unwrap_or(log);
    let restored = restoration.install(&made_from, progress)?;
    record_backup(dir, moment.backup.as_deref(), &restored)?;
    let Applied { last, records, is_newest, .. } = applied;
    let time = Snapshot::of_directory(dir).map_err(OpenError::from)?.loaded().now;
    Ok(RestoredTo { restored, last, time, records, is_newest })
}

/// Copies the backup, and returns the key of its job ids.
fn copy_backup(
    restoration: &Restoration,
    file: &Path,
    until: Option<Millis>,
    progress: &mut dyn FnMut(Stage),
) -> Result<Option<IdKey>, RestoreError> {
    let loaded = Snapshot::of_file(file).map_err(OpenError::from)?.loaded();
    if let Some(until) = until.filter(|until| loaded.now > *until) {
        return Err(RestoreError::BackupIsLater { made: loaded.now, until });
    }
    restoration.copy(file, progress)?;
    Ok(Some(loaded.id_key))
}

/// Directories with records of one server.
pub(crate) struct Sources {
    directories: Vec<PathBuf>,
    key: Option<IdKey>,
}

impl Sources {
    /// The archive must belong to the server that the key belongs to. A log of another server is left out.
    pub(crate) fn find(
        archive: Option<&Path>,
        log: &Path,
        key: Option<IdKey>,
    ) -> Result<Self, RestoreError> {
        let mut sources = Self { directories: Vec::new(), key };
        if let Some(archive) = archive {
            match (read_id_key(archive)?, key) {
                (None, _) => {
                    return Err(IdentityError::Unknown { directory: archive.to_owned() }.into());
                }
                (Some(theirs), Some(ours)) if theirs != ours => {
                    return Err(IdentityError::Foreign { directory: archive.to_owned() }.into());
                }
                (theirs, _) => sources.add(archive, theirs),
            }
        }
        let theirs = read_id_key(log)?;
        if theirs.is_some() && (sources.key.is_none() || sources.key == theirs) {
            sources.add(log, theirs);
        }
        Ok(sources)
    }

    fn add(&mut self, directory: &Path, key: Option<IdKey>) {
        self.directories.push(directory.to_owned());
        self.key = key;
    }

    pub(crate) fn history(&self) -> Result<History, RestoreError> {
        let directories: Vec<&Path> = self.directories.iter().map(PathBuf::as_path).collect();
        Ok(History::newest(&directories)?)
    }
}

/// Without a backup, the database begins empty, and with the key that the records' ids were made with.
fn begin_at_first_record(
    view: &SqliteView,
    sources: &Sources,
    history: &History,
) -> Result<(), RestoreError> {
    match sources.key {
        Some(key) if history.first() == 1 => Ok(view.set_id_key(key)?),
        _ => Err(RestoreError::NoBeginning { first: history.first() }),
    }
}

pub(crate) struct Applied {
    pub(crate) last: LogRecord,
    /// When the last record was committed, if one was applied.
    time: Option<Millis>,
    records: u64,
    is_newest: bool,
}

impl Applied {
    pub(crate) fn nothing(last: LogRecord) -> Self {
        Self { last, time: None, records: 0, is_newest: false }
    }
}

/// Bytes of records in one transaction.
const PORTION_BYTES: usize = 4 << 20;

/// Applies the records that were committed up to a time.
pub(crate) fn apply(
    view: &mut SqliteView,
    reader: &mut HistoryReader<'_>,
    moment: &Moment,
    last: LogRecord,
    progress: &mut dyn FnMut(Stage),
) -> Result<Applied, RestoreError> {
    let mut applied = Applied { is_newest: true, ..Applied::nothing(last) };
    loop {
        let records = match reader.next_records() {
            Ok(Some(records)) => records,
            Ok(None) => return Ok(applied),
            Err(_) if moment.up_to_damage => return Ok(Applied { is_newest: false, ..applied }),
            Err(cause) => {
                let reached = applied.time.map(|time| (applied.last.index, time));
                return Err(RestoreError::History { cause, reached });
            }
        };
        let is_later = |time: i64| moment.until.is_some_and(|until| time > until.0);
        let wanted = records.iter().position(|record| is_later(record.entry.time));
        let count = wanted.unwrap_or(records.len());
        let mut portion = Vec::new();
        let mut bytes = 0;
        for record in &records[..count] {
            let Entry { index, term, time, payload } = &record.entry;
            portion.push(batch(*index, payload)?);
            bytes += payload.len();
            applied.last = LogRecord { index: *index, term: *term, checksum: record.checksum };
            applied.time = Some(Millis(*time));
            applied.records += 1;
            if bytes > PORTION_BYTES {
                apply_portion(view, &portion)?;
                (portion, bytes) = (Vec::new(), 0);
                progress(Stage::Applying { index: *index });
            }
        }
        apply_portion(view, &portion)?;
        progress(Stage::Applying { index: applied.last.index });
        if wanted.is_some() {
            return Ok(Applied { is_newest: false, ..applied });
        }
    }
}

fn batch(index: u64, payload: &bytes::Bytes) -> Result<Batch, RestoreError> {
    let decoded = decode(payload.clone());
    Ok(decoded.map_err(|cause| OpenError::Decode { index, cause })?)
}

fn apply_portion(view: &mut SqliteView, batches: &[Batch]) -> Result<(), RestoreError> {
    let Some(first) = batches.first() else { return Ok(()) };
    match ready(view.apply(batches)) {
        Ok(_) => Ok(()),
        Err(ApplyError::Full(cause)) => Err(StoreError::new(cause).into()),
        Err(cause) => Err(OpenError::Apply { index: first.number, cause }.into()),
    }
}

/// When a file was last written, in milliseconds since the epoch.
pub(super) fn modified(file: &Path) -> Option<i64> {
    let modified = fs::metadata(file).and_then(|metadata| metadata.modified()).ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}
