//! SQLite files whose pages carry checksums, so that damage is an error and never served.
//!
//! [`register`] adds a VFS (SQLite's file layer) on top of the usual one. Through it, the last eight bytes of every page
//! of a database file hold a checksum of the page and its number, which is verified on every read. Pages in the
//! write-ahead log (WAL) are verified too: SQLite itself does that only when it recovers the log.
//!
//! SQLite must leave these eight bytes alone: a new database needs [`reserve`] before its first page is written.

mod checksum;
mod damage;
mod owner;
mod planted;
mod reserve;
mod scan;
mod vfs;
mod wal;

pub use checksum::{CHECKSUM_BYTES, is_intact, seal};
pub use damage::{Damage, Place, take_last};
pub use owner::{Owner, Tree, owners};
pub use planted::Checks;
pub use reserve::reserve;
pub use scan::{PageBytes, damaged_pages, has_checksums, page_bytes};
pub use vfs::{register, register_with};
pub use wal::{WalTail, inspect_wal};

/// The VFS that [`register`] adds.
pub const VFS: &str = "rota-pages";
