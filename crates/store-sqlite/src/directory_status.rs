//! The status of a data directory, read without disturbing a running server.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use crate::{OpenError, disk, lock};

/// The server and the files of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryStatus {
    pub server: Server,
    /// Free bytes on the directory's file system; `None` if the system does not report it.
    pub free_bytes: Option<u64>,
    pub database_bytes: u64,
    /// Size of the write-ahead log.
    pub wal_bytes: u64,
    /// Size of the reserve file; 0 if there is none.
    pub reserve_bytes: u64,
    /// Names of files that interrupted backups and restores have left.
    pub partial_files: Vec<String>,
}

/// Whether a server uses the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Running { pid: Option<u32> },
    Stopped,
}

/// Reads the status of a data directory.
pub fn directory_status(dir: &Path) -> Result<DirectoryStatus, OpenError> {
    let entries = fs::read_dir(dir).map_err(|error| OpenError::unusable(dir, error))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let len = |name: &str| fs::metadata(dir.join(name)).map_or(0, |metadata| metadata.len());
    Ok(DirectoryStatus {
        server: server(dir)?,
        free_bytes: disk::free_bytes(dir),
        database_bytes: len("rota.db"),
        wal_bytes: len("rota.db-wal"),
        reserve_bytes: len("rota.reserve"),
        partial_files: names
            .filter(|name| name.ends_with(".partial") || name.ends_with(".restoring"))
            .collect(),
    })
}

/// Tries to take the lock and releases it at once. A server that starts at the same moment retries.
fn server(dir: &Path) -> Result<Server, OpenError> {
    let path = dir.join("rota.lock");
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Server::Stopped),
        Err(error) => return Err(OpenError::unusable(&path, error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Server::Stopped),
        Err(TryLockError::WouldBlock) => Ok(Server::Running { pid: lock::read_pid(&mut file) }),
        Err(TryLockError::Error(error)) => Err(OpenError::unusable(&path, error)),
    }
}
