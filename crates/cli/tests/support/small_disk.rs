//! A file system of a given size, for tests that fill it or may not write to it.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Unmounted when dropped.
pub struct SmallDisk {
    dir: TempDir,
}

impl SmallDisk {
    /// `None`, with a word on standard output, where this user may not mount anything.
    pub fn mount(megabytes: u32) -> Option<Self> {
        let dir = TempDir::new().expect("a temporary directory");
        let size = format!("size={megabytes}m,mode=0777");
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "rota-test"])
            .arg(dir.path())
            .output();
        let problem = match output {
            Ok(output) if output.status.success() => return Some(Self { dir }),
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        println!("skipped: a small file system cannot be mounted here: {}", problem.trim());
        assert!(std::env::var_os("CI").is_none() || !is_root(), "CI as root must run this test");
        None
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn make_read_only(&self) {
        let status = Command::new("mount").args(["-o", "remount,ro"]).arg(self.path()).status();
        assert!(status.expect("mount runs").success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
