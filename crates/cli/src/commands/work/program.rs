//! Finds the program to run.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Failure;

/// Resolves the program. One that cannot be run is reported before any job fails because of it.
pub(super) fn find(name: Option<&OsString>) -> Result<PathBuf, Failure> {
    let name = Path::new(name.ok_or_else(|| Failure::usage("a command is missing"))?);
    let shown = name.display();
    if name.components().count() > 1 || name.is_absolute() {
        return match (is_program(name), name.exists()) {
            (true, _) => Ok(name.to_owned()),
            (false, true) => Err(Failure::usage(format!("{shown} is no program"))
                .hint(format!("Make it one with `chmod +x {shown}`, or name its interpreter."))),
            (false, false) => Err(Failure::usage(format!("there is no {shown}"))),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| is_program(path));
    found.ok_or_else(|| {
        Failure::usage(format!("there is no program {shown} in PATH"))
            .hint(format!("For a file in this directory, write ./{shown}"))
    })
}

fn is_program(path: &Path) -> bool {
    let executable = |mode: u32| mode & 0o111 != 0;
    path.metadata().is_ok_and(|about| about.is_file() && executable(about.permissions().mode()))
}
