//! A data directory whose log and view are advanced separately, as a crash would leave them.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use rota_log::{Entry, Log};
use rota_model::{Millis, Seq};
use rota_storage::{OpenError, Options, Storage, log_directory, open};
use rota_store::{Batch, Mutation, RowKind, View, encoding};
use rota_store_sqlite::Snapshot;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

pub struct Directory(TempDir);

pub const OPTIONS: Options =
    Options { durability: rota_model::Durability::Fsync, reserve_bytes: 0, archive: None };

impl Directory {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn log(&self) -> PathBuf {
        log_directory(self.path())
    }

    pub fn try_open(&self) -> Result<Storage, OpenError> {
        open(self.path(), &OPTIONS, &mut |_| ())
    }

    pub fn open(&self) -> Storage {
        self.try_open().unwrap()
    }

    /// Commits batches with these numbers, and applies those up to `applied`. Then the process is killed.
    pub fn commit_and_crash(&self, numbers: std::ops::RangeInclusive<u64>, applied: u64) {
        let mut storage = self.open();
        commit(&mut storage, numbers, applied);
    }

    /// Commits all batches up to this one, applies them, and stops in order.
    pub fn commit_and_close(&self, numbers: std::ops::RangeInclusive<u64>) {
        let mut storage = self.open();
        let last = *numbers.end();
        commit(&mut storage, numbers, last);
        close(storage);
    }

    /// The number of the last batch in the database.
    pub fn applied(&self) -> u64 {
        Snapshot::of_directory(self.path()).unwrap().loaded().number
    }

    /// Segments of the log, by name.
    pub fn segments(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.log()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.ends_with(".segment")).collect();
        names.sort();
        names
    }
}

pub fn commit(storage: &mut Storage, numbers: std::ops::RangeInclusive<u64>, applied: u64) {
    for number in numbers {
        let batch = batch(number);
        let mut payload = Vec::new();
        encoding::encode(&batch, &[], &mut payload);
        let term = storage.term;
        let entry = Entry { index: number, term, time: batch.now.0, payload: payload.into() };
        ready(storage.log.append(&entry)).unwrap();
        if number <= applied {
            ready(storage.view.apply(&[batch])).unwrap();
        }
    }
}

pub fn close(storage: Storage) {
    ready(storage.log.close()).unwrap();
    ready(storage.view.close()).unwrap();
}

/// A batch that leaves a trace of its own in the view.
pub fn batch(number: u64) -> Batch {
    let mutations =
        vec![Mutation::Put(RowKind::Setting, format!("batch-{number}").into(), "{}".into())];
    Batch { number, now: Millis(number as i64), next_seq: Seq(0), event_count: 0, mutations }
}

/// The database of a data directory, opened without Rota.
pub fn database(dir: &Path) -> Connection {
    let (flags, vfs) = (OpenFlags::default(), rota_sqlite_pages::register().unwrap());
    Connection::open_with_flags_and_vfs(dir.join("rota.db"), flags, vfs).unwrap()
}

/// The names of the batches that the view has a trace of.
pub fn traces(directory: &Directory) -> u64 {
    let conn = database(directory.path());
    conn.query_row("SELECT count(*) FROM named WHERE name LIKE 'batch-%'", [], |row| {
        row.get::<_, i64>(0)
    })
    .unwrap() as u64
}

pub fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("embedded storage never waits"),
    }
}
