//! The interface between the engine and a database: the [`Store`] and [`Reader`] traits, and the
//! test suite that every implementation must pass.
//!
//! The engine emits [`Mutation`]s. A store commits each [`Batch`] of them atomically and returns the
//! state at the next start. It makes no decisions of its own.

mod audit;
mod batch;
mod error;
mod list;
mod load;
mod record;
mod store;
pub mod suite;

pub use audit::{AuditPage, AuditQuery};
pub use batch::{Batch, Committed};
pub use error::{CommitError, StoreError};
pub use list::{DeadFilter, ListPage, ListQuery, Order, Selection};
pub use load::{Loaded, Sink};
pub use record::{Body, ERRORS_KEPT, Found, Record};
pub use rota_model::mutation::{
    Backoff, Claim, Counts, Finish, HistoryRow, Mutation, NewRow, Period, Ready, Rewrite, RowKind,
    Undo,
};
pub use rota_model::row::JobRow;
pub use store::{Reader, Store};
