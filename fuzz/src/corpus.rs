//! The inputs that are committed: seeds for the fuzzer, and what it once crashed on.

use std::fs;
use std::path::PathBuf;

/// File name and content of each input of a target, in order of the names.
#[must_use]
pub fn of(target: &str) -> Vec<(String, Vec<u8>)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let files = fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut inputs: Vec<(String, Vec<u8>)> = files
        .map(|file| {
            let path = file.expect("the directory can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, fs::read(&path).expect("the input can be read"))
        })
        .collect();
    inputs.sort();
    inputs
}
