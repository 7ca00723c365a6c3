//! Data directories with a log and a view, on real files.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

mod directory;
mod full_disk;
mod keep;
mod lost_files;
mod replay;
mod restore;
mod until;
