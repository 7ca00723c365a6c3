//! The seam between the engine and a database: what may be written, what may be read, and the
//! test suite that every store must pass.
//!
//! The engine decides and emits [`Mutation`]s; a store makes a [`Batch`] of them durable, all or
//! nothing, and hands everything back at the next start. It decides nothing itself.

mod batch;
mod error;
mod list;
mod load;
mod record;
mod store;
pub mod suite;

pub use batch::Batch;
pub use error::{CommitError, StoreError};
pub use list::{ListPage, ListQuery, Order, Selection};
pub use load::{Loaded, Sink};
pub use record::{Body, ERRORS_KEPT, Found, Record};
pub use rota_model::mutation::{
    Backoff, Claim, Counts, Finish, HistoryRow, Mutation, NewRow, Period, Ready, RowKind, Undo,
};
pub use rota_model::row::JobRow;
pub use store::{Reader, Store};
