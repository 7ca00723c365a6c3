//! The database of a server that was stopped, as SQLite sees it.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// What is written gets its checksums.
pub fn open(path: &Path) -> Connection {
    let vfs = rota_sqlite_pages::register().unwrap();
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs).unwrap()
}
