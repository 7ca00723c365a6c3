//! [`SqliteView`], the [`View`] in a SQLite file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rota_model::IdKey;
use rota_store::{Applied, ApplyError, Batch, Loaded, Sink, StoreError, View};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::checkpointer::{Checkpointer, Step};
use crate::internal_error::InternalError;
use crate::lock::DirLock;
use crate::log_start::{self, LogRecord, LogStart};
use crate::portion::Kept;
use crate::reserve::Reserve;
use crate::{OpenError, Options, SqliteReader, checkpoint, load, open, portion};

/// The view in a SQLite file. Its futures are ready at once: every call does its work on the calling
/// thread.
pub struct SqliteView {
    checkpointer: Checkpointer,
    conn: Connection,
    path: PathBuf,
    reserve: Reserve,
    kept: Kept,
    /// The number of the last batch that was applied.
    applied: u64,
    // Declared last, to be dropped after the connections: closing any handle to a file releases
    // SQLite's locks on it.
    file: Arc<File>,
    _lock: DirLock,
}

impl SqliteView {
    /// Opens the view in this directory. Creates a missing database and migrates an older format.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        let lock = open::lock(dir)?;
        let path = dir.join("rota.db");
        let conn = open::writer(&path)?;
        let file = File::options().read(true).write(true).open(&path);
        let file = file.map_err(|error| OpenError::unusable(&path, error))?;
        let file = Arc::new(file);
        let checkpointer = open::checkpointer(&path, file.clone(), options)?;
        let reserve = Reserve::new(dir, options.reserve_bytes);
        reserve.restore();
        let open_error = |error: InternalError| error.into_open_error(&path);
        let applied = load::meta(&conn).map_err(open_error)?.number;
        if checkpoint::passive(&conn).map_err(open_error)? {
            checkpointer.set_durable(applied);
        }
        Ok(Self {
            applied,
            checkpointer,
            conn,
            path,
            reserve,
            kept: Kept::default(),
            file,
            _lock: lock,
        })
    }

    /// Whether this database has a log, and where one must begin if not.
    pub fn log_start(&self) -> Result<LogStart, StoreError> {
        Ok(log_start::read(&self.conn)?)
    }

    /// Records durably that the log exists.
    pub fn set_log_begun(&self) -> Result<(), StoreError> {
        Ok(log_start::set_begun(&self.conn)?)
    }

    /// Has the next start begin a new log under this term, behind this record, which is the last one applied.
    pub fn begin_term(&self, term: u64, last: LogRecord) -> Result<(), StoreError> {
        Ok(log_start::begin_term(&self.conn, term, Some(last)).map_err(InternalError::from)?)
    }

    /// Has the next start follow a log that exists, and that begins behind `base`. `parent` is the record before the
    /// first of this term, if an earlier term has it.
    pub fn follow_log(
        &self,
        base: u64,
        term: u64,
        parent: Option<LogRecord>,
    ) -> Result<(), StoreError> {
        Ok(log_start::follow(&self.conn, base, term, parent)?)
    }

    /// Sets the key of job ids, in a database without jobs.
    pub fn set_id_key(&self, key: IdKey) -> Result<(), StoreError> {
        let set = self.conn.execute("UPDATE meta SET id_key = ?1", [key.0 as i64]);
        Ok(set.map(drop).map_err(InternalError::from)?)
    }

    /// Whether the reserve is allocated, which fails on a nearly full disk.
    #[must_use]
    pub fn has_reserve(&self) -> bool {
        self.reserve.is_allocated()
    }

    /// Frees the reserved space. Returns false if there was none.
    ///
    /// Most of it goes to the database and its write-ahead log at once, before other files take it. The rest is for
    /// the log of segments. Then everything is checkpointed: the write-ahead log restarts in the space that it
    /// has, and segments can be reused.
    pub fn release_reserve(&self) -> bool {
        let released = self.reserve.release();
        if released {
            self.reserve.hand_over(&self.file, &self.path);
        }
        // If this fails, the next portion fails too, and returns the error.
        if checkpoint::restart(&self.conn).unwrap_or(false) {
            self.checkpointer.set_durable(self.applied);
        }
        released
    }

    /// Allocates the reserve again. Returns whether it is allocated.
    pub fn restore_reserve(&self) -> bool {
        if !self.reserve.is_allocated() {
            // Truncating the write-ahead log may free enough space.
            let _ = checkpoint::truncate(&self.conn);
        }
        self.reserve.restore()
    }

    /// Bytes of unused pages in the database file.
    fn unused_bytes(&self) -> Result<u64, InternalError> {
        let pages: i64 = self.conn.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        let size: i64 = self.conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
        Ok(pages.max(0) as u64 * size.max(0) as u64)
    }

    /// Wakes the checkpointer if the write-ahead log is long, or checkpoints the last few pages.
    fn keep_wal_short(&mut self) -> Result<(), InternalError> {
        let wal = checkpoint::wal_state(&self.conn)?;
        match self.checkpointer.step(wal) {
            Step::Nothing => {}
            Step::Wake => self.checkpointer.wake(wal),
            Step::CheckpointRest => {
                if checkpoint::passive(&self.conn)? {
                    self.checkpointer.set_durable(self.applied);
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), InternalError> {
        drop(self.checkpointer);
        checkpoint::truncate(&self.conn)?;
        self.conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        Ok(self.conn.close().map_err(|(_, error)| error)?)
    }
}

impl View for SqliteView {
    type Reader = SqliteReader;

    async fn load(&mut self, sink: &mut dyn Sink) -> Result<Loaded, StoreError> {
        Ok(load::load(&mut self.conn, &self.path, sink)?)
    }

    async fn applied(&mut self) -> Result<u64, StoreError> {
        Ok(self.applied)
    }

    async fn apply(&mut self, batches: &[Batch]) -> Result<Applied, ApplyError> {
        // Without checkpoints, the write-ahead log would fill the disk.
        if let Some(cause) = self.checkpointer.failure() {
            return Err(ApplyError::Fatal(cause));
        }
        let applied = portion::apply(&self.conn, &self.path, &mut self.kept, batches)?;
        self.applied = batches.last().map_or(self.applied, |last| last.number);
        // The batches are applied, so the next call reports this error.
        if let Err(error) = self.keep_wal_short() {
            self.checkpointer.fail(&error);
        }
        Ok(applied)
    }

    fn durable(&self) -> u64 {
        self.checkpointer.durable()
    }

    async fn tidy(&mut self) -> Result<(), StoreError> {
        let wal = checkpoint::wal_state(&self.conn)?;
        if wal.is_worth_checkpointing() {
            self.checkpointer.wake(wal);
        }
        Ok(())
    }

    fn release_reserve(&mut self) -> bool {
        SqliteView::release_reserve(self)
    }

    /// Unused pages in the file count as free space: the file never shrinks, and new jobs use those
    /// pages first.
    fn restore_reserve(&mut self) -> bool {
        SqliteView::restore_reserve(self)
            || self.unused_bytes().is_ok_and(|unused| unused >= self.reserve.needed())
    }

    fn reader(&self) -> Result<SqliteReader, StoreError> {
        Ok(SqliteReader::new(open::reader(&self.path)?))
    }

    async fn close(self) -> Result<(), StoreError> {
        Ok(self.finish()?)
    }
}
