//! The few file operations that a log of segments needs. The real ones are in [`Disk`];
//! [`simulated`] has a disk that can fail.

mod disk;
pub mod simulated;

use std::io;
use std::path::Path;

pub use disk::Disk;

/// A file system.
pub trait Files: Clone + Send + Sync + 'static {
    type File: FileHandle;

    /// Creates a directory that only its owner can use, unless it exists.
    fn create_dir(&self, directory: &Path) -> io::Result<()>;

    /// The names of the plain files in a directory. A missing directory has none.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;

    /// Creates a file that only its owner can use. It must not exist.
    fn create(&self, path: &Path) -> io::Result<Self::File>;

    /// Opens an existing file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Self::File>;

    /// Opens an existing file for reading.
    fn open_to_read(&self, path: &Path) -> io::Result<Self::File>;

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes names that were created, renamed or removed in the directory durable.
    fn sync_dir(&self, directory: &Path) -> io::Result<()>;
}

/// An open file.
pub trait FileHandle: Send + 'static {
    fn size(&self) -> io::Result<u64>;

    /// Reads up to the length of the buffer; 0 at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes a part of the buffer from its beginning, and returns its length.
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<usize>;

    /// Reserves space for this length, so that a full disk is noticed at once.
    fn allocate(&self, len: u64) -> io::Result<()>;

    /// Makes everything written to the file durable, its length included.
    fn sync_data(&self) -> io::Result<()>;
}

/// Writes the whole buffer, in several parts if need be.
pub(crate) fn write_all(
    file: &impl FileHandle,
    mut buffer: &[u8],
    mut offset: u64,
) -> io::Result<()> {
    while !buffer.is_empty() {
        match file.write_at(buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                buffer = &buffer[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until the buffer is full or the file ends. Returns how much was read.
pub(crate) fn read_full(
    file: &impl FileHandle,
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes zeros over a range.
pub(crate) fn write_zeros(file: &impl FileHandle, from: u64, to: u64) -> io::Result<()> {
    const CHUNK: usize = 1 << 18;
    let zeros = vec![0; CHUNK.min(to.saturating_sub(from) as usize)];
    let mut offset = from;
    while offset < to {
        let part = zeros.len().min((to - offset) as usize);
        write_all(file, &zeros[..part], offset)?;
        offset += part as u64;
    }
    Ok(())
}

/// Whether the error says that the disk, or what this user may use of it, is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
