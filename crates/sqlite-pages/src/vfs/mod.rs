//! The VFS: SQLite's usual file layer, with checksums in between.
//!
//! `database.rs` and `log.rs` say what happens when a page is read or written, and are safe code. `registration.rs`,
//! `methods.rs` and `original.rs` connect them with SQLite through its C interface.

mod database;
mod log;
mod methods;
mod original;
mod registration;

pub use registration::{register, register_with};

use std::ffi::c_int;

use rusqlite::ffi::SQLITE_IOERR_DATA;

use crate::Damage;
use crate::damage::set_last;

/// A file of the VFS.
enum Role {
    Database(database::DatabaseFile),
    Log(log::LogFile),
}

/// SQLite's page sizes. Anything else that SQLite reads or writes is not a page.
fn is_page_size(bytes: usize) -> bool {
    bytes.is_power_of_two() && (512..=65536).contains(&bytes)
}

/// Notes what is damaged, and returns the result code for SQLite.
fn damaged(damage: Damage) -> c_int {
    set_last(damage);
    SQLITE_IOERR_DATA
}
