//! Bugs that the other tests must find. Each is a file system that does not do what the log asked for.

use std::io;
use std::path::Path;

use super::world::DIRECTORY;
use super::{bit_flips, every_call_fails, power_cuts};
use crate::files::simulated::{Fault, SimulatedDisk, SimulatedFile};
use crate::files::{FileHandle, Files};
use crate::segment::block::{BLOCK, BlockHead, Seen, examine, seal, u32_at};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    /// The directory of the log is never synced.
    NoDirectorySync,
    /// The directory above it is never synced.
    NoParentSync,
    /// A record is acknowledged before it is synced.
    NoSync,
    /// All segments have the same salt.
    SameSalt,
    /// An append cannot be told from a failed one before it.
    SameAttempt,
    /// Damaged blocks count as never written, so a damaged last record is cut off.
    DamageIsAbsent,
}

#[test]
fn a_missing_directory_sync_is_found() {
    found_by_power_cuts(|disk| Buggy { disk, bug: Bug::NoDirectorySync });
}

#[test]
fn a_missing_sync_of_the_parent_directory_is_found() {
    found_by_power_cuts(|disk| Buggy { disk, bug: Bug::NoParentSync });
}

#[test]
fn an_answer_before_the_sync_is_found() {
    found_by_power_cuts(|disk| Buggy { disk, bug: Bug::NoSync });
}

#[test]
fn ignored_salts_are_found() {
    found_by_power_cuts(|disk| Buggy { disk, bug: Bug::SameSalt });
}

#[test]
fn confused_attempts_are_found() {
    found_by_power_cuts(|disk| Buggy { disk, bug: Bug::SameAttempt });
}

#[test]
fn bugs_are_found_by_failing_calls_as_well() {
    for bug in [Bug::NoDirectorySync, Bug::NoSync] {
        let found = (0..400).any(|call| {
            every_call_fails::run(0, call, Fault::PowerCut, |disk| Buggy { disk, bug }).is_err()
        });
        assert!(found, "{bug:?} was not found");
    }
}

#[test]
fn cutting_off_a_damaged_last_record_is_found() {
    let found = (0..20).any(|seed| {
        let mut used = bit_flips::Used::new(seed);
        (0..150)
            .any(|_| used.flip_and_open(|disk| Buggy { disk, bug: Bug::DamageIsAbsent }).is_err())
    });
    assert!(found);
}

#[test]
fn a_missing_mark_is_found() {
    assert!((200..240).any(|seed| bit_flips::lose_sectors(seed, |_| ()).is_err()));
}

fn found_by_power_cuts(wrap: fn(SimulatedDisk) -> Buggy) {
    let found = (0..4_000).find(|seed| power_cuts::run(*seed, wrap).is_err());
    println!("found with seed {found:?}");
    assert!(found.is_some());
}

#[derive(Clone)]
struct Buggy {
    disk: SimulatedDisk,
    bug: Bug,
}

struct BuggyFile {
    file: SimulatedFile,
    bug: Bug,
}

impl Buggy {
    fn file(&self, file: SimulatedFile) -> BuggyFile {
        BuggyFile { file, bug: self.bug }
    }
}

impl Files for Buggy {
    type File = BuggyFile;

    fn create_dir(&self, directory: &Path) -> io::Result<()> {
        self.disk.create_dir(directory)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.disk.list(directory)
    }

    fn create(&self, path: &Path) -> io::Result<BuggyFile> {
        Ok(self.file(self.disk.create(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<BuggyFile> {
        Ok(self.file(self.disk.open(path)?))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<BuggyFile> {
        Ok(self.file(self.disk.open_to_read(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn sync_dir(&self, directory: &Path) -> io::Result<()> {
        match self.bug {
            Bug::NoDirectorySync if directory == Path::new(DIRECTORY) => Ok(()),
            Bug::NoParentSync if directory != Path::new(DIRECTORY) => Ok(()),
            _ => self.disk.sync_dir(directory),
        }
    }
}

impl FileHandle for BuggyFile {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.file.read_at(buffer, offset)?;
        if self.bug == Bug::DamageIsAbsent && offset.is_multiple_of(BLOCK as u64) {
            let first = (offset / BLOCK as u64) as u32;
            for (position, block) in (first..).zip(buffer[..count].chunks_mut(BLOCK)) {
                if examine(block, position) == Seen::Damaged {
                    block.fill(0);
                }
            }
        }
        Ok(count)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        let mut changed = buffer.to_vec();
        for block in changed.chunks_mut(BLOCK).filter(|block| block.len() == BLOCK) {
            let Seen::Whole(head) = examine(block, u32_at(block, 24)) else { continue };
            match self.bug {
                Bug::SameSalt => seal(block, &BlockHead { salt: 7, ..head }),
                Bug::SameAttempt => seal(block, &BlockHead { attempt: 7, ..head }),
                _ => {}
            }
        }
        self.file.write_at(&changed, offset)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.file.allocate(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.bug {
            Bug::NoSync => Ok(()),
            _ => self.file.sync_data(),
        }
    }
}
