//! The reserve file: disk space that is freed when the disk is full, so that jobs can still be
//! acknowledged and purged.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::header::with_suffix;
use crate::paths::directory_of;
use crate::{disk, private_files};

pub(crate) struct Reserve {
    path: PathBuf,
    bytes: u64,
}

const CHUNK: usize = 1 << 20;

impl Reserve {
    pub(crate) fn new(dir: &Path, bytes: u64) -> Self {
        Self { path: dir.join("rota.reserve"), bytes }
    }

    /// Whether the file has its full size on disk. Always true for a size of 0.
    pub(crate) fn is_allocated(&self) -> bool {
        self.bytes == 0 || fs::metadata(&self.path).is_ok_and(|m| allocated(&m) >= self.bytes)
    }

    /// Free bytes required to allocate the reserve.
    pub(crate) fn needed(&self) -> u64 {
        self.bytes + self.bytes / 4
    }

    /// Deletes the file. Returns false if there was none.
    pub(crate) fn release(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }

    /// Allocates space behind the end of the database, and of its write-ahead log, from what `release` has freed.
    /// Where the file system cannot do that, they find the space free.
    pub(crate) fn hand_over(&self, database: &File, path: &Path) {
        let _ = allocate_behind(database, self.bytes / 2);
        // Closing this handle is harmless: SQLite's locks are on the other files.
        if let Ok(wal) = File::options().write(true).open(with_suffix(path, "-wal")) {
            let _ = allocate_behind(&wal, self.bytes / 4);
        }
    }

    /// Allocates the file again. Returns false if the disk does not have a quarter more than its size
    /// free: otherwise, the space freed by `release` would itself look like enough.
    pub(crate) fn restore(&self) -> bool {
        if self.is_allocated() {
            return true;
        }
        let free = disk::free_bytes(directory_of(&self.path));
        if free.is_some_and(|free| free < self.needed()) {
            return false;
        }
        let filled = self.fill();
        if filled.is_err() {
            self.release();
        }
        filled.is_ok()
    }

    fn fill(&self) -> io::Result<()> {
        let mut file = private_files::create_file(&self.path)?;
        if !allocate(&file, self.bytes)? {
            let random = random_bytes();
            let mut left = self.bytes;
            while left > 0 {
                let n = left.min(CHUNK as u64) as usize;
                file.write_all(&random[..n])?;
                left -= n as u64;
            }
        }
        file.sync_all()
    }
}

/// Allocates blocks without writing them. Returns false if the file system does not support it.
fn allocate(file: &File, bytes: u64) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Allocates blocks behind the end of a file, which keeps its length.
fn allocate_behind(file: &File, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    let end = file.metadata()?.len();
    Ok(fallocate(file, FallocateFlags::KEEP_SIZE, end, bytes)?)
}

/// Random, because a compressing file system would store zeros in no space.
fn random_bytes() -> Vec<u8> {
    let mut bytes = vec![0; CHUNK];
    fastrand::fill(&mut bytes);
    bytes
}

/// Bytes allocated on disk, which is less than the length for a sparse file.
#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.len().min(metadata.blocks() * 512)
}

#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}
