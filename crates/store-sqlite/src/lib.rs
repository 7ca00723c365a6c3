//! The embedded store: one SQLite file in its own data directory.
//!
//! `rota.db` is the database; its pages carry checksums ([`rota_sqlite_pages`]). `rota.lock` ensures that only one server uses the directory, and
//! `rota.reserve` is disk space that is freed when the disk is full.

mod add_checksums;
mod apply;
mod audit;
mod backup;
pub mod check;
mod checkpoint;
mod checkpointer;
mod copy;
mod copy_error;
mod dead_letter;
mod directory_status;
mod disk;
mod error;
mod file_owner;
mod header;
mod history;
mod internal_error;
mod list;
mod load;
mod load_live;
mod lock;
mod log_start;
mod lookup;
mod migrate;
mod open;
mod options;
mod overdue;
mod page_kind;
mod partial_file;
mod paths;
mod portion;
mod pragma;
pub mod private_files;
mod reader;
mod replace_database;
mod reserve;
mod restore;
mod row;
mod snapshot;
mod stored_bytes;
mod usage;
mod view;
mod zones;

pub use backup::{BackupSource, Copied, backup};
pub use copy::Stage;
pub use copy_error::CopyError;
pub use directory_status::{DirectoryStatus, Server, directory_status};
pub use disk::free_bytes;
pub use error::OpenError;
pub use file_owner::copy_owner;
pub use log_start::{LogRecord, LogStart};
pub use options::Options;
pub use reader::SqliteReader;
pub use restore::{Restoration, Restored, restore};
pub use snapshot::{FORMAT, Snapshot};
pub use view::SqliteView;
