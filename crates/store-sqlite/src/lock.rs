//! One server per data directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use crate::OpenError;

/// Held as long as the file is open; the operating system lets go of it when the process ends.
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    pub(crate) fn take(dir: &Path) -> Result<Self, OpenError> {
        let path = dir.join("rota.lock");
        let unusable = |error: std::io::Error| OpenError::unusable(&path, error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(unusable)?;
        match try_for_a_moment(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Locked { dir: dir.to_owned(), pid: read_pid(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        note_pid(&mut file);
        Ok(Self { _file: file })
    }
}

/// Whoever looks whether a server is running holds the lock for an instant.
fn try_for_a_moment(file: &File) -> Result<(), TryLockError> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
            other => return other,
        }
    }
    file.try_lock()
}

const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

pub(crate) fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Only there for the other server's message, and on a full disk there may be no room for it.
fn note_pid(file: &mut File) {
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
}
