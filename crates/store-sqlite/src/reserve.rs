//! Space that is kept so that it can be given back: on a full disk, acknowledging and purging
//! must still be possible.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::disk;
use crate::place::directory_of;

pub(crate) struct Reserve {
    path: PathBuf,
    bytes: u64,
}

const CHUNK: usize = 1 << 20;

impl Reserve {
    pub(crate) fn new(dir: &Path, bytes: u64) -> Self {
        Self { path: dir.join("rota.reserve"), bytes }
    }

    /// Whether all of it is there; a reserve of nothing always is.
    pub(crate) fn is_there(&self) -> bool {
        self.bytes == 0 || fs::metadata(&self.path).is_ok_and(|m| allocated(&m) >= self.bytes)
    }

    /// The room that there must be before it counts as room again.
    pub(crate) fn needed(&self) -> u64 {
        self.bytes + self.bytes / 4
    }

    /// Gives the space back; false when there was none to give.
    pub(crate) fn release(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }

    /// Takes the space again; false when the disk has no room for it and a little more. Without
    /// the little more, what a full disk was given by releasing it would look like room.
    pub(crate) fn restore(&self) -> bool {
        if self.is_there() {
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
        let mut file = File::create(&self.path)?;
        if !allocate(&file, self.bytes)? {
            let noise = noise();
            let mut left = self.bytes;
            while left > 0 {
                let n = left.min(CHUNK as u64) as usize;
                file.write_all(&noise[..n])?;
                left -= n as u64;
            }
        }
        file.sync_all()
    }
}

/// Asks for blocks without writing them, which takes no time; false where that is not possible.
fn allocate(file: &File, bytes: u64) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A file system with compression would store zeros in no space at all.
fn noise() -> Vec<u8> {
    let mut bytes = vec![0; CHUNK];
    fastrand::fill(&mut bytes);
    bytes
}

/// The blocks behind the file, since a hole would reserve nothing.
#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.len().min(metadata.blocks() * 512)
}

#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}
