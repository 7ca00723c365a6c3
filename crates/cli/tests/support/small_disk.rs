//! A file system of a given size, for tests that fill it or may not write to it.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Unmounted when dropped.
pub struct SmallDisk {
    dir: TempDir,
}

impl SmallDisk {
    /// Fails the test where this user may not mount anything: a skipped test proves nothing.
    pub fn mount(megabytes: u32) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let options = format!("size={megabytes}m,mode=0777");
        mount(&["-t", "tmpfs", "-o", &options, "rota-test"], dir.path());
        Self { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn make_read_only(&self) {
        mount(&["-o", "remount,ro"], self.path());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

fn mount(arguments: &[&str], at: &Path) {
    let output = Command::new("mount").args(arguments).arg(at).output().expect("mount runs");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "this test mounts a small file system and needs root: {}\n\
         Without root: unshare --map-root-user --map-auto --mount cargo test ...",
        problem.trim()
    );
}
