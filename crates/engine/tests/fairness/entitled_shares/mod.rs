//! The share that is shown is the share that dispatching gives, whatever accounts are in use.

mod accounts;
mod blocked;
mod changes;
mod scene;
