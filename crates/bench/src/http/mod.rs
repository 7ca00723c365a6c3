//! The load generator: one thread, many connections, as little between them and the server as can
//! be, so that it is the server that is measured.

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
