//! Files that an administrator makes for the user that runs the server.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

/// Gives a file to the owner of another one, or of a directory, with the same permissions as that
/// other file. Whoever may not do this is mostly the owner himself.
pub(crate) fn hand_over(path: &Path, like: &Path) {
    let Ok(model) = fs::metadata(like) else { return };
    let _ = chown(path, Some(model.uid()), Some(model.gid()));
    if model.is_file() {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(model.mode() & 0o777));
    }
}
