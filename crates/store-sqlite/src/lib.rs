//! The embedded store: one SQLite file in a data directory of its own.
//!
//! `rota.db` holds everything, `rota.lock` keeps a second server out, and `rota.reserve` is space
//! that can be given back when the disk is full.

mod apply;
mod backup;
pub mod check;
mod checkpoint;
mod commit;
mod copy;
mod copy_error;
mod disk;
mod error;
mod fault;
mod header;
mod history;
mod list;
mod load;
mod load_live;
mod lock;
mod migrate;
mod mover;
mod open;
mod options;
mod overdue;
mod owner;
mod partial;
mod place;
mod pragma;
mod read;
mod reader;
mod reserve;
mod restore;
mod row;
mod set_aside;
mod snapshot;
mod store;
mod survey;
mod usage;
mod zones;

pub use backup::{Copied, backup};
pub use copy::Stage;
pub use copy_error::CopyError;
pub use error::OpenError;
pub use options::Options;
pub use reader::SqliteReader;
pub use restore::{Restored, restore};
pub use rota_model::Durability;
pub use snapshot::{FORMAT, Snapshot};
pub use store::SqliteStore;
pub use survey::{Server, Survey, survey};
