//! The library and the program as a whole, against servers on real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod command;
mod folder;
mod runs;
mod stub;
