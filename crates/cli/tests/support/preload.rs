//! Libraries that are loaded into a server before all others and change what the system tells it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles one of the sources in `preload/` with the system's C compiler.
pub fn compile(source: &str, into: &Path) -> PathBuf {
    let library = into.join(source).with_extension("so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/preload").join(source);
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .args([&library, &source])
        .args(["-ldl", "-lpthread"])
        .output()
        .expect("this test needs a C compiler, cc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}
