//! A look at the file without SQLite, which would create files next to it and recover its log.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::OpenError;
use crate::migrate::{APPLICATION_ID, FORMAT};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// No file, or an empty one.
    New,
    /// A database that is, as far as its header tells, ours.
    Ours,
}

const HEADER_LEN: usize = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const WAYS_AT: u64 = 18;
const USER_VERSION_AT: usize = 60;
const APPLICATION_ID_AT: usize = 68;

/// How a database is written and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ways {
    /// By itself, so that it can be read where no file can be made beside it.
    Alone = 1,
    /// With a write-ahead log, as a server leaves it.
    WithLog = 2,
}

impl Ways {
    pub(crate) fn write(self, file: &File) -> io::Result<()> {
        file.write_all_at(&[self as u8; 2], WAYS_AT)
    }
}

pub(crate) fn look(path: &Path) -> Result<Look, OpenError> {
    let len = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(OpenError::unusable(path, "it is not a file"));
        }
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(OpenError::unusable(path, error)),
    };
    if len == 0 || was_being_created(path) {
        return Ok(Look::New);
    }
    let mut header = [0; HEADER_LEN];
    match File::open(path).and_then(|mut file| file.read_exact(&mut header)) {
        Ok(()) => check_header(path, &header).map(|()| Look::Ours),
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
    check(path, number_at(header, APPLICATION_ID_AT), number_at(header, USER_VERSION_AT))
}

/// The base of a new file is written with a rollback journal. One that is left over means that
/// the creation was cut short, and SQLite undoes it.
fn was_being_created(path: &Path) -> bool {
    fs::metadata(beside(path, "-journal")).is_ok_and(|m| m.len() > 0)
}

/// The name of a file that SQLite, or Rota, keeps beside a database.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn number_at(header: &[u8; HEADER_LEN], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}
