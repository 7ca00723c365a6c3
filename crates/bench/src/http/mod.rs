//! The load generator: one thread with many connections and little overhead of its own.

mod answer;
mod connection;
mod drive;
mod pace;
mod script;
mod target;
mod transport;

pub(crate) use answer::{parse as parse_answer, parse_head};
pub(crate) use drive::{Drive, drive};
pub(crate) use script::{Request, Script};
pub(crate) use target::{PATIENCE, Target};
