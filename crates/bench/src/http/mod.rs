//! The load generator: one thread with many connections and little overhead of its own.

mod answer;
mod connect;
mod connection;
mod drive;
mod pace;
mod script;

pub(crate) use answer::parse as parse_answer;
pub(crate) use connect::{PATIENCE, connect};
pub(crate) use drive::{Drive, drive};
pub(crate) use script::{Request, Script};
