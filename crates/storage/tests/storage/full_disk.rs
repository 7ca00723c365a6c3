//! A disk without room for the view to catch up.

use std::fs;
use std::path::Path;
use std::process::Command;

use rota_log::Log;
use rota_model::Durability;
use rota_storage::{Options, open};

use crate::directory::{commit, ready};

/// A small file system in memory; unmounted when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(megabytes: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(dir.path())
            .status();
        assert!(mounted.unwrap().success(), "mounting needs root");
        Self(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_view_catches_up_in_the_space_of_the_reserve() {
    let disk = SmallDisk::mount(16);
    let dir = disk.path().join("data");
    let options = Options { durability: Durability::Fsync, reserve_bytes: 4 << 20, archive: None };
    let mut storage = open(&dir, &options, &mut |_| ()).unwrap();
    commit(&mut storage, 1..=2_000, 0);
    drop(storage);
    // Everything else is full.
    let mut ballast = fs::File::create(disk.path().join("ballast")).unwrap();
    let chunk = vec![7; 16 << 10];
    while std::io::Write::write_all(&mut ballast, &chunk).is_ok() {}
    drop(ballast);
    let storage = open(&dir, &options, &mut |_| ()).unwrap();
    assert_eq!(storage.log.tip().index, 2_000);
    ready(storage.log.close()).unwrap();
}
