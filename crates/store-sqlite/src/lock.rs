//! The lock that ensures that at most one server uses a data directory.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use crate::{OpenError, private_files};

/// Held as long as the file is open. The operating system releases it when the process ends.
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    pub(crate) fn take(dir: &Path) -> Result<Self, OpenError> {
        let path = dir.join("rota.lock");
        let unusable = |error: std::io::Error| OpenError::unusable(&path, error);
        let mut file = private_files::file_options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(unusable)?;
        match lock_with_retries(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Locked { dir: dir.to_owned(), pid: read_pid(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        write_pid(&mut file);
        Ok(Self { _file: file })
    }
}

/// Retries for 50 ms, because [`directory_status`](crate::directory_status) also takes the lock,
/// for an instant.
fn lock_with_retries(file: &File) -> Result<(), TryLockError> {
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

/// The pid is only used in the error message of a second server, so errors are ignored: on a full
/// disk there may be no room for it.
fn write_pid(file: &mut File) {
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
}
