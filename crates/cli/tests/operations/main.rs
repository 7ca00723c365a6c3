//! Starting, stopping, failing and coming back, with real processes.

#[path = "../support/mod.rs"]
mod support;

mod greeting;
