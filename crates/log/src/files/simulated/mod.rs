//! A disk in memory that loses power, fills up, fails and rots, reproducibly.
//!
//! - After a power cut, each sector written since the last sync of its file is old or new, or any
//!   version in between. Names created, renamed or removed since the last sync of their
//!   directory may be as before.
//! - A fault can be set for the nth call.
//! - After a failed sync, what was to be synced is lost at the next power cut, even if a later sync
//!   succeeds.

mod handle;
mod inode;
mod state;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Files;
pub use handle::SimulatedFile;
use state::State;

/// The size of a sector, in bytes.
pub(crate) const SECTOR: usize = 512;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with `EIO`. A write may have written a part.
    Io,
    /// The call fails with `ENOSPC` if it can. A write may have written a part.
    Full,
    /// A write writes a part of its buffer.
    Short,
    /// The power goes out before the call. All calls fail until [`SimulatedDisk::restart`].
    PowerCut,
}

/// A disk in memory. Clones share it.
#[derive(Debug, Clone)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

impl SimulatedDisk {
    pub fn new(seed: u64) -> Self {
        Self { state: Arc::new(Mutex::new(State::new(seed))) }
    }

    /// The process is gone and the power is not: what was written is there for the next process, synced or not.
    pub fn end_process(&self) {
        let mut state = self.lock();
        (state.off, state.fault) = (false, None);
    }

    /// How many calls there have been.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// Lets the call with this number fail; the first is 0.
    pub fn fail_at(&self, call: u64, fault: Fault) {
        self.lock().fault = Some((call, fault));
    }

    /// Whether the fault that was set has occurred.
    pub fn has_failed(&self) -> bool {
        let state = self.lock();
        state.fault.is_some_and(|(call, _)| call < state.calls)
    }

    /// While the disk is full, nothing can be created or allocated.
    pub fn set_full(&self, full: bool) {
        self.lock().full = full;
    }

    /// Whether a power cut may also leave a sector half written. Disks promise that it does not.
    pub fn set_tearing(&self, tearing: bool) {
        self.lock().tearing = tearing;
    }

    /// Cuts the power, unless it is already off, and turns it on again.
    pub fn restart(&self) {
        self.lock().restart();
    }

    /// The files, by name.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.lock().paths()
    }

    pub fn content(&self, path: &Path) -> Vec<u8> {
        self.lock().content(path)
    }

    /// Changes a file behind the back of whoever uses it.
    pub fn change(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        self.lock().change(path, change);
    }

    /// A disk with the same durable content and no pending changes.
    pub fn fork(&self, seed: u64) -> Self {
        Self { state: Arc::new(Mutex::new(self.lock().fork(seed))) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files for SimulatedDisk {
    type File = SimulatedFile;

    fn create_dir(&self, directory: &Path) -> io::Result<()> {
        self.lock().create_dir(directory)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.lock().list(directory)
    }

    fn create(&self, path: &Path) -> io::Result<SimulatedFile> {
        let inode = self.lock().create(path)?;
        Ok(SimulatedFile { disk: self.clone(), inode })
    }

    fn open(&self, path: &Path) -> io::Result<SimulatedFile> {
        let inode = self.lock().open(path)?;
        Ok(SimulatedFile { disk: self.clone(), inode })
    }

    fn open_to_read(&self, path: &Path) -> io::Result<SimulatedFile> {
        self.open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.lock().rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.lock().remove(path)
    }

    fn sync_dir(&self, directory: &Path) -> io::Result<()> {
        self.lock().sync_dir(directory)
    }
}
