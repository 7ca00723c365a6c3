//! Whose records a directory of segments has.
//!
//! The ids of jobs are encrypted with a key that only the database has. A copy of it lies beside the segments of the
//! log and of its archive: without it the database could not be rebuilt from its log alone, and with it one server's
//! records are never taken for another's.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rota_model::IdKey;
use rota_store_sqlite::{copy_owner, private_files};
use serde::{Deserialize, Serialize};

/// The file beside the segments.
const NAME: &str = "identity.json";

/// The file's content.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    version: u32,
    /// 16 hexadecimal digits.
    id_key: String,
}

/// A directory of segments has an identity that cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum IdentityError {
    #[error("{} has the records of another server; use a directory of its own", directory.display())]
    Foreign { directory: PathBuf },
    #[error("{} has segments, but no {NAME} that says whose they are", directory.display())]
    Unknown { directory: PathBuf },
    #[error("{}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: String },
}

/// The key of a directory; `None` if it says nothing.
pub fn read_id_key(directory: &Path) -> Result<Option<IdKey>, IdentityError> {
    let path = directory.join(NAME);
    let unreadable = |cause: String| IdentityError::Unreadable { path: path.clone(), cause };
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| unreadable(error.to_string()))?,
    };
    let identity: Identity =
        serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
    let key = u64::from_str_radix(&identity.id_key, 16);
    key.map(|key| Some(IdKey(key))).map_err(|error| unreadable(error.to_string()))
}

/// Sees to it that the directory names this key. One that names another is refused.
pub(crate) fn claim(directory: &Path, key: IdKey) -> Result<(), IdentityError> {
    match read_id_key(directory)? {
        Some(known) if known == key => Ok(()),
        Some(_) => Err(IdentityError::Foreign { directory: directory.to_owned() }),
        None => write(directory, key),
    }
}

/// Has the directory name this key, whatever it named before.
pub(crate) fn write(directory: &Path, key: IdKey) -> Result<(), IdentityError> {
    let path = directory.join(NAME);
    let identity = Identity { version: 1, id_key: format!("{:016x}", key.0) };
    let text = serde_json::to_string(&identity).expect("numbers and text become JSON");
    replace_file(&path, text.as_bytes())
        .map_err(|error| IdentityError::Unreadable { path, cause: error.to_string() })
}

/// Replaces a small file in one step, durably.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let partial = path.with_extension("partial");
    let mut file =
        private_files::file_options().write(true).create(true).truncate(true).open(&partial)?;
    file.write_all(content)?;
    file.sync_all()?;
    let directory = path.parent().unwrap_or(Path::new("."));
    // Root may write it, for a server that runs as somebody else.
    copy_owner(&partial, directory);
    fs::rename(&partial, path)?;
    File::open(directory)?.sync_all()
}
