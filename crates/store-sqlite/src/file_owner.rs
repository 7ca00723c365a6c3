//! Giving files that root has created to the user who runs the server.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

/// Gives `path` the owner of the file or directory `like`, and the permissions if that is a file.
/// Errors are ignored: a process that may not change owners usually is that owner.
pub fn copy_owner(path: &Path, like: &Path) {
    let Ok(model) = fs::metadata(like) else { return };
    let _ = chown(path, Some(model.uid()), Some(model.gid()));
    if model.is_file() {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(model.mode() & 0o777));
    }
}
