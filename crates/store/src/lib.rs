//! The interface between the engine and a database: the [`View`] and [`Reader`] traits, and the
//! test suite that every implementation must pass.
//!
//! The engine emits [`Mutation`]s. A [`Batch`] of them becomes durable in the log; a view applies the batches
//! behind it, serves reads, and returns the state at the next start. It makes no decisions of its own.

mod audit;
mod batch;
pub mod encoding;
mod error;
mod list;
mod load;
mod record;
pub mod suite;
mod view;

pub use audit::{AuditPage, AuditQuery};
pub use batch::{Applied, Batch};
pub use error::{ApplyError, StoreError};
pub use list::{DeadFilter, ListPage, ListQuery, Order, Selection};
pub use load::{Loaded, Sink};
pub use record::{Body, ERRORS_KEPT, Found, Record};
pub use rota_model::mutation::{
    Backoff, Claim, Counts, Finish, HistoryRow, Mutation, NewRow, Period, Ready, Rewrite, RowKind,
    Undo,
};
pub use rota_model::row::JobRow;
pub use view::{Reader, View};
