//! Starting, stopping, failing and coming back, with real processes.

#[path = "../support/mod.rs"]
mod support;

mod dice;
mod greeting;
mod kill_nine;
mod wire;
