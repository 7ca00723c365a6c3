//! Starting, stopping, failing and coming back, with real processes.

#[path = "../support/mod.rs"]
mod support;

mod dice;
mod process;
mod small_disk;
mod wire;

mod bad_input;
mod corrupt;
mod full_disk;
mod greeting;
mod kill_nine;
mod start;
mod stop;
