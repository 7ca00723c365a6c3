//! The shell around the engine: threads, the clock, HTTP.

pub mod http;
pub mod runtime;

mod serve;

pub use serve::{ServeError, Server};
