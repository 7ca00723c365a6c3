//! Reading and writing the header of a database file without SQLite, which would create files next
//! to it and recover its write-ahead log.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rota_sqlite_pages::{page_bytes, seal};

use crate::OpenError;
use crate::migrate::{APPLICATION_ID, FORMAT};
use crate::page_kind::PageKind;

/// What is stored under the name of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// No file, an empty one, or one whose creation was interrupted.
    New,
    /// A Rota database, according to its header.
    Rota,
}

const HEADER_LEN: usize = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Offsets in the header, see <https://www.sqlite.org/fileformat.html>.
const JOURNAL_MODE_OFFSET: usize = 18;
const USER_VERSION_OFFSET: usize = 60;
const APPLICATION_ID_OFFSET: usize = 68;

/// The journal mode recorded in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JournalMode {
    /// No write-ahead log, so the file can be read from read-only media.
    Rollback = 1,
    /// Write-ahead log, as a server uses it.
    Wal = 2,
}

impl JournalMode {
    pub(crate) fn write(self, file: &File, pages: PageKind) -> io::Result<()> {
        let bytes = match (pages, page_bytes(file)?) {
            (PageKind::Plain, _) | (PageKind::Checked, None) => HEADER_LEN,
            (PageKind::Checked, Some(bytes)) => bytes,
        };
        let mut first = vec![0; bytes];
        file.read_exact_at(&mut first, 0)?;
        first[JOURNAL_MODE_OFFSET..JOURNAL_MODE_OFFSET + 2].fill(self as u8);
        if pages == PageKind::Checked {
            seal(&mut first, 1);
        }
        file.write_all_at(&first, 0)
    }
}

pub(crate) fn file_kind(path: &Path) -> Result<FileKind, OpenError> {
    let len = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(OpenError::unusable(path, "it is not a file"));
        }
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(OpenError::unusable(path, error)),
    };
    if len == 0 || was_being_created(path) {
        return Ok(FileKind::New);
    }
    let mut header = [0; HEADER_LEN];
    match File::open(path).and_then(|mut file| file.read_exact(&mut header)) {
        Ok(()) => check_header(path, &header).map(|()| FileKind::Rota),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(OpenError::corrupt(path, format!("it is only {len} bytes long")))
        }
        Err(error) => Err(OpenError::unusable(path, error)),
    }
}

pub(crate) fn check(path: &Path, application: u32, format: u32) -> Result<(), OpenError> {
    if application != APPLICATION_ID {
        return Err(OpenError::corrupt(path, "it is an SQLite database of another program"));
    }
    match format {
        0 => Err(OpenError::corrupt(path, "it names no format")),
        1..=FORMAT => Ok(()),
        found => Err(OpenError::NewerFormat { path: path.to_owned(), found, known: FORMAT }),
    }
}

fn check_header(path: &Path, header: &[u8; HEADER_LEN]) -> Result<(), OpenError> {
    if !header.starts_with(MAGIC) {
        return Err(OpenError::corrupt(path, "it is not an SQLite database"));
    }
    check(path, number_at(header, APPLICATION_ID_OFFSET), number_at(header, USER_VERSION_OFFSET))
}

/// A new file is created with a rollback journal. If one is left, the creation was interrupted, and
/// SQLite will undo it.
fn was_being_created(path: &Path) -> bool {
    fs::metadata(with_suffix(path, "-journal")).is_ok_and(|m| m.len() > 0)
}

/// The path of a file next to the database, such as `rota.db-wal`.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn number_at(header: &[u8; HEADER_LEN], offset: usize) -> u32 {
    u32::from_be_bytes([0, 1, 2, 3].map(|i| header[offset + i]))
}
