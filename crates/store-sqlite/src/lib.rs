//! The embedded store: one SQLite file in a data directory of its own.
//!
//! `rota.db` holds everything, `rota.lock` keeps a second server out, and `rota.reserve` is space
//! that can be given back when the disk is full.

mod apply;
mod checkpoint;
mod commit;
mod error;
mod fault;
mod header;
mod history;
mod list;
mod load;
mod lock;
mod migrate;
mod mover;
mod open;
mod options;
mod overdue;
mod pragma;
mod read;
mod reader;
mod reserve;
mod row;
mod store;

pub use error::OpenError;
pub use options::{Durability, Options};
pub use reader::SqliteReader;
pub use store::SqliteStore;
