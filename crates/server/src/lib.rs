//! The server process around the engine: threads, the clock and the HTTP API.

mod audit;
pub mod http;
pub mod identity;
mod open_files;
mod priority;
mod request_limits;
pub mod runtime;

mod serve;

pub use serve::{ServeError, Server};
