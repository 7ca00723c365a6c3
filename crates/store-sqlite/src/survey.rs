//! A data directory, looked at from outside: nothing is opened that a server would mind.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use crate::{OpenError, disk, lock};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    pub server: Server,
    /// What is left on its disk, where that can be told.
    pub free_bytes: Option<u64>,
    pub database_bytes: u64,
    /// The size of the log.
    pub log_bytes: u64,
    /// Space set aside; 0 when none is.
    pub reserve_bytes: u64,
    /// Remains of copies that were cut short.
    pub remains: Vec<String>,
}

/// Whether a server uses a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Running { pid: Option<u32> },
    Stopped,
}

pub fn survey(dir: &Path) -> Result<Survey, OpenError> {
    let entries = fs::read_dir(dir).map_err(|error| OpenError::unusable(dir, error))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let len = |name: &str| fs::metadata(dir.join(name)).map_or(0, |metadata| metadata.len());
    Ok(Survey {
        server: server(dir)?,
        free_bytes: disk::free_bytes(dir),
        database_bytes: len("rota.db"),
        log_bytes: len("rota.db-wal"),
        reserve_bytes: len("rota.reserve"),
        remains: names
            .filter(|name| name.ends_with(".partial") || name.ends_with(".restoring"))
            .collect(),
    })
}

/// Asks for a shared lock and lets go of it at once; a server that starts in this very instant
/// tries again.
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
