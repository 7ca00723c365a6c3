//! The VFS with real SQLite databases.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod bit_flips;
mod database;
mod image;
mod owners;
