//! The protocol, spoken to a real server.

#[path = "../support/mod.rs"]
mod support;

mod lifecycle;
