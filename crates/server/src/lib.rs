//! The shell around the engine: threads, the clock, HTTP.

pub mod http;
pub mod runtime;
pub mod settings;

mod serve;

pub use serve::{ServeError, Server};
