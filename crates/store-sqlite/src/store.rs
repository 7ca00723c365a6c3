use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rota_store::{Batch, CommitError, Loaded, Sink, Store, StoreError};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::fault::Fault;
use crate::lock::DirLock;
use crate::mover::{Mover, Step};
use crate::reserve::Reserve;
use crate::zones::OpenZones;
use crate::{OpenError, Options, SqliteReader, checkpoint, commit, load, open};

/// The writing side of the embedded store. Its futures are ready at once: every call does its
/// work on the calling thread.
pub struct SqliteStore {
    mover: Mover,
    conn: Connection,
    path: PathBuf,
    reserve: Reserve,
    zones: Option<OpenZones>,
    // These last, so that they are let go of after the connection: SQLite's locks on a file end
    // when any handle to it is closed.
    _file: Arc<File>,
    _lock: DirLock,
}

impl SqliteStore {
    /// Opens the store in this directory, creating what is missing and migrating what is old.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        let lock = open::lock(dir)?;
        let path = dir.join("rota.db");
        let conn = open::writer(&path, options)?;
        let file = File::open(&path).map_err(|error| OpenError::unusable(&path, error))?;
        let file = Arc::new(file);
        let mover = open::mover(&path, file.clone(), options)?;
        let reserve = Reserve::new(dir, options.reserve_bytes);
        reserve.restore();
        Ok(Self { mover, conn, path, reserve, zones: None, _file: file, _lock: lock })
    }

    /// Whether the space to fall back on is there; it may not be, on a disk that is nearly full.
    #[must_use]
    pub fn has_reserve(&self) -> bool {
        self.reserve.is_there()
    }

    /// Gives the reserved space back to the disk; false when there was none.
    ///
    /// The first use of it is to move the log into the file, after which the log starts over in
    /// the space that it has: from then on small commits need hardly any more.
    pub fn release_reserve(&self) -> bool {
        let released = self.reserve.release();
        // A failure here will be met again by the next commit, which can tell it.
        let _ = checkpoint::and_truncate(&self.conn);
        released
    }

    /// Tries to reserve the space again; true when it is there.
    pub fn restore_reserve(&self) -> bool {
        if !self.reserve.is_there() {
            // The log may hold more than is missing.
            let _ = checkpoint::and_truncate(&self.conn);
        }
        self.reserve.restore()
    }

    /// Space inside the file that nothing uses.
    fn unused_bytes(&self) -> Result<u64, Fault> {
        let pages: i64 = self.conn.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        let size: i64 = self.conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
        Ok(pages.max(0) as u64 * size.max(0) as u64)
    }

    /// The log is moved on the side; only the last bit of it now and then takes a moment here.
    fn keep_log_short(&mut self) -> Result<(), Fault> {
        let log = checkpoint::log(&self.conn)?;
        match self.mover.step(log) {
            Step::Nothing => {}
            Step::Wake => self.mover.wake(log),
            Step::MoveTheRest => checkpoint::now(&self.conn)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Fault> {
        drop(self.mover);
        checkpoint::and_truncate(&self.conn)?;
        self.conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        Ok(self.conn.close().map_err(|(_, error)| error)?)
    }
}

impl Store for SqliteStore {
    type Reader = SqliteReader;

    async fn load(&mut self, sink: &mut dyn Sink) -> Result<Loaded, StoreError> {
        Ok(load::load(&mut self.conn, &self.path, sink)?)
    }

    async fn commit(&mut self, batch: &Batch) -> Result<(), CommitError> {
        // A database whose log cannot be moved takes nothing more, before the disk is full of it.
        if let Some(cause) = self.mover.failure() {
            return Err(CommitError::Fatal(cause));
        }
        commit::commit(&self.conn, &self.path, &mut self.zones, batch)?;
        // It is committed, so what goes wrong here is for the next one to tell.
        if let Err(fault) = self.keep_log_short() {
            self.mover.fail(&fault);
        }
        Ok(())
    }

    async fn tidy(&mut self) -> Result<(), StoreError> {
        let log = checkpoint::log(&self.conn)?;
        if log.is_worth_moving() {
            self.mover.wake(log);
        }
        Ok(())
    }

    fn release_reserve(&mut self) -> bool {
        SqliteStore::release_reserve(self)
    }

    /// Pages that purged jobs left behind are as good as space on the disk: the file never shrinks,
    /// and new jobs go there first.
    fn restore_reserve(&mut self) -> bool {
        SqliteStore::restore_reserve(self)
            || self.unused_bytes().is_ok_and(|unused| unused >= self.reserve.needed())
    }

    fn reader(&self) -> Result<SqliteReader, StoreError> {
        Ok(SqliteReader::new(open::reader(&self.path)?))
    }

    async fn close(self) -> Result<(), StoreError> {
        Ok(self.finish()?)
    }
}
