//! The functions that SQLite calls with a file.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::slice;

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64};

use super::Role;
use super::original::Original;

/// A file of the VFS, as SQLite sees it. The memory behind it belongs to the file of the original VFS.
#[repr(C)]
pub(super) struct File {
    base: sqlite3_file,
    role: *mut Role,
}

impl File {
    /// Bytes in front of the file of the original VFS.
    pub const BYTES: usize = size_of::<Self>();

    /// Makes an open file of the original VFS a file of ours.
    ///
    /// # Safety
    ///
    /// SQLite has passed `file` to open it, and the original VFS has opened the file behind it.
    pub unsafe fn begin(file: *mut sqlite3_file, role: Role) {
        let role = Box::into_raw(Box::new(role));
        // SAFETY: SQLite has allocated enough memory for it, as the VFS says how much it needs.
        unsafe {
            file.cast::<Self>().write(Self { base: sqlite3_file { pMethods: &METHODS }, role })
        };
    }
}

/// The file of the original VFS.
///
/// # Safety
///
/// `file` is the memory that SQLite has allocated for a file of the VFS.
pub(super) unsafe fn original(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: the memory behind a file of ours is as large as the original VFS asks for, and `File::BYTES` keeps it aligned
    // for pointers.
    unsafe { file.cast::<u8>().add(File::BYTES).cast() }
}

/// Not for `xFetch`: memory-mapped pages could not be verified.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// What is done with a file, and the file of the original VFS.
///
/// # Safety
///
/// SQLite has passed `file` to one of our methods, so it is open, and no other method uses it before this one returns.
unsafe fn parts<'f>(file: *mut sqlite3_file) -> (&'f mut Role, Original) {
    // SAFETY: an open file was written by `File::begin`, and its role lives until `close`.
    unsafe { (&mut *(*file.cast::<File>()).role, Original::new(original(file))) }
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: sqlite3_int64,
) -> c_int {
    let (Ok(amount), Ok(offset)) = (usize::try_from(amount), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_READ;
    };
    // SAFETY: SQLite calls this with an open file and a buffer of so many bytes, which only this call uses. It need not be
    // initialised for SQLite, so it is filled first.
    let ((role, original), buffer) = unsafe {
        buffer.cast::<u8>().write_bytes(0, amount);
        (parts(file), slice::from_raw_parts_mut(buffer.cast(), amount))
    };
    match role {
        Role::Database(database) => database.read(&original, buffer, offset),
        Role::Log(log) => log.read(&original, buffer, offset),
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    amount: c_int,
    offset: sqlite3_int64,
) -> c_int {
    let (Ok(amount), Ok(offset)) = (usize::try_from(amount), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_WRITE;
    };
    // SAFETY: SQLite calls this with an open file and so many bytes, which do not change during the call.
    let ((role, original), bytes) =
        unsafe { (parts(file), slice::from_raw_parts(bytes.cast(), amount)) };
    match role {
        Role::Database(database) => database.write(&original, bytes, offset),
        Role::Log(log) => log.write(&original, bytes, offset),
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes an open file once and does not use it again, so the role can go.
    unsafe {
        drop(Box::from_raw((*file.cast::<File>()).role));
        let original = original(file);
        match (*(*original).pMethods).xClose {
            Some(close) => close(original),
            None => ffi::SQLITE_OK,
        }
    }
}

/// A method that does what the original VFS does.
macro_rules! forward {
    ($name:ident, $method:ident, ($($argument:ident: $type:ty),*), $without:expr) => {
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite calls this with an open file, behind which is one of the original VFS, and with arguments
            // that are valid for the method of that name.
            unsafe {
                let original = original(file);
                match (*(*original).pMethods).$method {
                    Some(method) => method(original $(, $argument)*),
                    None => $without,
                }
            }
        }
    };
}

forward!(truncate, xTruncate, (size: sqlite3_int64), ffi::SQLITE_IOERR_TRUNCATE);
forward!(sync, xSync, (flags: c_int), ffi::SQLITE_OK);
forward!(file_size, xFileSize, (size: *mut sqlite3_int64), ffi::SQLITE_IOERR_FSTAT);
forward!(lock, xLock, (level: c_int), ffi::SQLITE_IOERR_LOCK);
forward!(unlock, xUnlock, (level: c_int), ffi::SQLITE_IOERR_UNLOCK);
forward!(
    check_reserved_lock,
    xCheckReservedLock,
    (result: *mut c_int),
    ffi::SQLITE_IOERR_CHECKRESERVEDLOCK
);
forward!(file_control, xFileControl, (op: c_int, argument: *mut c_void), ffi::SQLITE_NOTFOUND);
forward!(sector_size, xSectorSize, (), 0);
forward!(
    shm_map,
    xShmMap,
    (region: c_int, bytes: c_int, extend: c_int, memory: *mut *mut c_void),
    ffi::SQLITE_IOERR_SHMMAP
);
forward!(shm_lock, xShmLock, (offset: c_int, n: c_int, flags: c_int), ffi::SQLITE_IOERR_SHMLOCK);
forward!(shm_unmap, xShmUnmap, (delete: c_int), ffi::SQLITE_OK);

forward!(original_characteristics, xDeviceCharacteristics, (), 0);

/// SQLite must not read parts of pages, as it does with long rows, because these could not be verified.
unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls this with an open file.
    unsafe { original_characteristics(file) & !ffi::SQLITE_IOCAP_SUBPAGE_READ }
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: SQLite calls this with an open file, behind which is one of the original VFS.
    unsafe {
        let original = original(file);
        if let Some(barrier) = (*(*original).pMethods).xShmBarrier {
            barrier(original);
        }
    }
}
