//! The SQLite store on real files: opening, committing, crashing, checking, backing up and restoring.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

#[path = "../../../cli/tests/support/small_disk.rs"]
mod small_disk;

mod backup;
mod check;
mod crashes;
mod damaged_files;
mod damaged_wal;
mod directory;
mod filled;
mod full_disk;
mod migrate;
mod open;
mod restore;
mod store_suite;
mod zones;
