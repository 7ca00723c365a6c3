//! Having SQLite leave room for the checksums.

#![allow(unsafe_code)]

use std::ffi::c_int;

use rusqlite::{Connection, ffi};

use crate::checksum::CHECKSUM_BYTES;

/// Has SQLite leave the bytes of the checksum free in every page of a database that this connection creates, also by
/// `VACUUM INTO`.
pub fn reserve(conn: &Connection) -> rusqlite::Result<()> {
    let mut bytes = CHECKSUM_BYTES as c_int;
    // SAFETY: the handle is open as long as the connection, which is borrowed here; the name ends with a zero; and for
    // this operation SQLite reads and writes one `int` through the pointer.
    let code = unsafe {
        ffi::sqlite3_file_control(
            conn.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_RESERVE_BYTES,
            (&raw mut bytes).cast(),
        )
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}
