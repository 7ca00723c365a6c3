//! Registering the VFS and opening files.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::Mutex;
use std::sync::PoisonError;

use rusqlite::ffi::{self, sqlite3_file, sqlite3_vfs};

use super::Role;
use super::database::DatabaseFile;
use super::log::LogFile;
use super::methods::{File, original};
use crate::{Checks, VFS};

/// The VFS, as SQLite sees it.
#[repr(C)]
struct Vfs {
    base: sqlite3_vfs,
    original: *mut sqlite3_vfs,
    checks: Checks,
}

static REGISTERING: Mutex<()> = Mutex::new(());

/// Registers the VFS, if it is not registered yet, and returns its name.
pub fn register() -> rusqlite::Result<&'static str> {
    register_with(VFS, Checks::ALL)?;
    Ok(VFS)
}

/// Registers a VFS under this name that makes only some of the checks.
pub fn register_with(name: &str, checks: Checks) -> rusqlite::Result<()> {
    let failed = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
    let name = CString::new(name).map_err(|_| failed(ffi::SQLITE_MISUSE))?;
    let _one_at_a_time = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the name ends with a zero. Looking a VFS up initialises SQLite and is allowed on any thread.
    if !unsafe { ffi::sqlite3_vfs_find(name.as_ptr()) }.is_null() {
        return Ok(());
    }
    // SAFETY: the same; a null pointer asks for the default VFS, which lives for ever.
    let default = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    if default.is_null() {
        return Err(failed(ffi::SQLITE_ERROR));
    }
    // SAFETY: the default VFS is a valid structure. In a copy of it all functions work that do not open files: those of
    // SQLite's own VFS take nothing from the structure but the length of paths.
    let mut base = unsafe { ptr::read(default) };
    base.szOsFile += File::BYTES as c_int;
    base.pNext = ptr::null_mut();
    base.zName = name.into_raw();
    base.xOpen = Some(open);
    let vfs = Box::into_raw(Box::new(Vfs { base, original: default, checks }));
    // SAFETY: the structure and its name are never freed, and a VFS with this name did not exist.
    match unsafe { ffi::sqlite3_vfs_register(vfs.cast(), 0) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(failed(code)),
    }
}

/// Opens a file with the original VFS. Databases and their logs become files of ours; others, such as rollback journals,
/// are used as they are.
unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const std::ffi::c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let is_checked = flags & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL) != 0;
    // SAFETY: SQLite calls this with the VFS that was registered, with memory for a file of its size, and with a name that
    // is null or ends with a zero and lives as long as the file. The original VFS gets the same arguments, and memory of
    // the size that it asks for.
    unsafe {
        let vfs = &*vfs.cast::<Vfs>();
        let Some(open) = (*vfs.original).xOpen else { return ffi::SQLITE_CANTOPEN };
        if !is_checked || name.is_null() {
            return open(vfs.original, name, file, flags, out_flags);
        }
        (*file).pMethods = ptr::null();
        let code = open(vfs.original, name, original(file), flags, out_flags);
        if code == ffi::SQLITE_OK {
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(CStr::from_ptr(name).to_bytes()));
            File::begin(file, role(path, flags, vfs.checks));
        }
        code
    }
}

fn role(path: PathBuf, flags: c_int, checks: Checks) -> Role {
    if flags & ffi::SQLITE_OPEN_WAL != 0 {
        Role::Log(LogFile::new(path, checks))
    } else {
        Role::Database(DatabaseFile::new(path, checks))
    }
}
