//! A temporary data directory.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use rota_sqlite_pages::{VFS, has_checksums, register};
use rota_store::suite::Fixture;
use rota_store_sqlite::{OpenError, Options, SqliteView};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// A connection to a database file, with checksums if its pages have them.
pub fn connect(path: &Path) -> Connection {
    if !has_checksums(path).unwrap_or(false) {
        return Connection::open(path).expect("the file can be opened");
    }
    register().expect("the VFS is registered");
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), VFS)
        .expect("the file can be opened")
}

pub struct Directory {
    dir: TempDir,
}

impl Directory {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn try_open(&self) -> Result<SqliteView, OpenError> {
        SqliteView::open(self.path(), small())
    }

    /// Names of the files in the directory, sorted.
    pub fn listing(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).expect("the directory is read");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        names
    }
}

impl Fixture for Directory {
    type View = SqliteView;

    fn open(&self) -> SqliteView {
        self.try_open().expect("the store opens")
    }

    fn block_on<T: Future>(&self, future: T) -> T::Output {
        block_on(future)
    }
}

/// Polls once, because the futures of this store are ready at once.
pub fn block_on<T: Future>(future: T) -> T::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the store made its caller wait"),
    }
}

pub fn small() -> Options {
    Options { reserve_bytes: 64 << 10 }
}
