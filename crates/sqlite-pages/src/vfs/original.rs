//! The file that SQLite's own VFS has opened, behind a file of ours.

#![allow(unsafe_code)]

use std::ffi::c_int;

use rusqlite::ffi;

/// An open file of the original VFS.
pub(super) struct Original {
    file: *mut ffi::sqlite3_file,
}

impl Original {
    /// # Safety
    ///
    /// `file` was opened by the original VFS, and stays open and is used by nobody else as long as the value exists.
    pub unsafe fn new(file: *mut ffi::sqlite3_file) -> Self {
        Self { file }
    }

    fn methods(&self) -> &ffi::sqlite3_io_methods {
        // SAFETY: the file is open, so it has methods, which live as long as the VFS: for ever.
        unsafe { &*(*self.file).pMethods }
    }

    /// Fills the buffer. A short read fills its end with zeros and returns `SQLITE_IOERR_SHORT_READ`.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> c_int {
        let (Some(read), Ok(amount), Ok(offset)) =
            (self.methods().xRead, c_int::try_from(buffer.len()), i64::try_from(offset))
        else {
            return ffi::SQLITE_IOERR_READ;
        };
        // SAFETY: the file is open, and the buffer has as many bytes as are asked for.
        unsafe { read(self.file, buffer.as_mut_ptr().cast(), amount, offset) }
    }

    pub fn write(&self, bytes: &[u8], offset: u64) -> c_int {
        let (Some(write), Ok(amount), Ok(offset)) =
            (self.methods().xWrite, c_int::try_from(bytes.len()), i64::try_from(offset))
        else {
            return ffi::SQLITE_IOERR_WRITE;
        };
        // SAFETY: the file is open, and there are as many bytes as are to be written.
        unsafe { write(self.file, bytes.as_ptr().cast(), amount, offset) }
    }
}
