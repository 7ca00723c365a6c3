//! What holds of the repository itself: its dependencies, and the paths and code that its pages name.

mod dependencies;
mod licence;
mod pages;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file, by its path from the root.
#[track_caller]
fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
