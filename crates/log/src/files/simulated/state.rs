//! The state of a simulated disk, and its calls.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::inode::Inode;
use super::{Fault, SECTOR};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Directory,
    File(usize),
}

/// A change of names that its directory has not been synced after. It is about a certain file, whatever
/// has the name after a power cut.
#[derive(Debug, Clone)]
enum Change {
    Add(PathBuf, Node),
    Rename(PathBuf, PathBuf, Node),
    Remove(PathBuf, Node),
}

type Names = BTreeMap<PathBuf, Node>;

#[derive(Debug)]
pub(super) struct State {
    inodes: Vec<Inode>,
    /// What programs see.
    names: Names,
    /// What is on the disk.
    durable: Names,
    pending: Vec<Change>,
    pub(super) calls: u64,
    pub(super) fault: Option<(u64, Fault)>,
    pub(super) full: bool,
    pub(super) tearing: bool,
    pub(super) off: bool,
    rng: fastrand::Rng,
}

impl State {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            inodes: Vec::new(),
            names: Names::new(),
            durable: Names::new(),
            pending: Vec::new(),
            calls: 0,
            fault: None,
            full: false,
            tearing: false,
            off: false,
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    pub(super) fn fork(&self, seed: u64) -> Self {
        Self {
            inodes: self.inodes.iter().map(Inode::durable_copy).collect(),
            names: self.durable.clone(),
            durable: self.durable.clone(),
            ..Self::new(seed)
        }
    }

    pub(super) fn restart(&mut self) {
        for inode in &mut self.inodes {
            inode.power_cut(&mut self.rng, self.tearing);
        }
        let pending = std::mem::take(&mut self.pending);
        // A journal keeps the first changes; without one, any of them may be undone.
        let in_order = self.rng.bool();
        let kept = self.rng.usize(..=pending.len());
        for (at, change) in pending.into_iter().enumerate() {
            if if in_order { at < kept } else { self.rng.bool() } {
                apply(&mut self.durable, change);
            }
        }
        self.drop_orphans();
        self.names = self.durable.clone();
        self.forget_removed_files();
        self.off = false;
        self.fault = None;
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let files = self.names.iter().filter(|(_, node)| matches!(node, Node::File(_)));
        files.map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn content(&self, path: &Path) -> Vec<u8> {
        match self.names.get(path) {
            Some(Node::File(inode)) => self.inodes[*inode].data.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn change(&mut self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(Node::File(inode)) = self.names.get(path) {
            self.inodes[*inode].change(change);
        }
    }

    pub(super) fn create_dir(&mut self, directory: &Path) -> io::Result<()> {
        self.metadata_call()?;
        if !self.names.contains_key(directory) {
            self.note(Change::Add(directory.to_owned(), Node::Directory));
        }
        Ok(())
    }

    pub(super) fn list(&mut self, directory: &Path) -> io::Result<Vec<String>> {
        self.plain_call()?;
        let inside = self.names.iter().filter(|(path, node)| {
            path.parent() == Some(directory) && matches!(node, Node::File(_))
        });
        let name = |path: &PathBuf| path.file_name()?.to_str().map(str::to_owned);
        Ok(inside.filter_map(|(path, _)| name(path)).collect())
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<usize> {
        self.metadata_call()?;
        if self.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if !path.parent().is_some_and(|parent| self.names.contains_key(parent)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let inode = self.inodes.len();
        self.inodes.push(Inode::default());
        self.note(Change::Add(path.to_owned(), Node::File(inode)));
        Ok(inode)
    }

    pub(super) fn open(&mut self, path: &Path) -> io::Result<usize> {
        self.plain_call()?;
        match self.names.get(path) {
            Some(Node::File(inode)) => Ok(*inode),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.metadata_call()?;
        let node = *self.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        self.note(Change::Rename(from.to_owned(), to.to_owned(), node));
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.plain_call()?;
        let node = *self.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        self.note(Change::Remove(path.to_owned(), node));
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, directory: &Path) -> io::Result<()> {
        self.plain_call()?;
        for change in std::mem::take(&mut self.pending) {
            if change.touches(directory) {
                apply(&mut self.durable, change);
            } else {
                self.pending.push(change);
            }
        }
        Ok(())
    }

    pub(super) fn size(&mut self, inode: usize) -> io::Result<u64> {
        self.plain_call()?;
        Ok(self.inodes[inode].data.len() as u64)
    }

    pub(super) fn read_at(
        &mut self,
        inode: usize,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        self.plain_call()?;
        let data = &self.inodes[inode].data;
        let rest = data.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    pub(super) fn write_at(
        &mut self,
        inode: usize,
        buffer: &[u8],
        offset: u64,
    ) -> io::Result<usize> {
        let end = offset as usize + buffer.len();
        let grows = end > self.inodes[inode].data.len();
        let fault = self.call()?;
        let fault = if self.full && grows { Some(Fault::Full) } else { fault };
        let outcome = match fault {
            Some(Fault::Io) => Err(eio()),
            Some(Fault::Full) => Err(enospc()),
            Some(Fault::Short) => Ok(self.rng.usize(1..=buffer.len().max(1))),
            _ => Ok(buffer.len()),
        };
        // Operating systems fail between pages, and so between sectors.
        let part = self.rng.usize(..=buffer.len() / SECTOR) * SECTOR;
        let written = *outcome.as_ref().unwrap_or(&part);
        self.inodes[inode].write(&buffer[..written], offset as usize);
        outcome
    }

    pub(super) fn allocate(&mut self, inode: usize, len: u64) -> io::Result<()> {
        let grows = len as usize > self.inodes[inode].data.len();
        let fault = self.call()?;
        match fault {
            Some(Fault::Io) => return Err(eio()),
            Some(Fault::Full) => return Err(enospc()),
            _ if self.full && grows => return Err(enospc()),
            _ => {}
        }
        self.inodes[inode].extend(len as usize);
        Ok(())
    }

    pub(super) fn sync_data(&mut self, inode: usize) -> io::Result<()> {
        match self.call()? {
            Some(fault @ (Fault::Io | Fault::Full)) => {
                self.inodes[inode].fail_to_sync(&mut self.rng);
                Err(if fault == Fault::Io { eio() } else { enospc() })
            }
            _ => {
                self.inodes[inode].sync();
                Ok(())
            }
        }
    }

    /// Counts a call, and says what goes wrong with it.
    fn call(&mut self) -> io::Result<Option<Fault>> {
        let number = self.calls;
        self.calls += 1;
        let fault = self.fault.filter(|(call, _)| *call == number).map(|(_, fault)| fault);
        self.off |= fault == Some(Fault::PowerCut);
        if self.off { Err(eio()) } else { Ok(fault) }
    }

    /// A call that needs no space.
    fn plain_call(&mut self) -> io::Result<()> {
        match self.call()? {
            Some(Fault::Io) => Err(eio()),
            _ => Ok(()),
        }
    }

    /// A call that may make a directory grow.
    fn metadata_call(&mut self) -> io::Result<()> {
        match self.call()? {
            Some(Fault::Io) => Err(eio()),
            Some(Fault::Full) => Err(enospc()),
            _ => Ok(()),
        }
    }

    /// A directory that is gone takes its files with it.
    fn drop_orphans(&mut self) {
        let root = Path::new("/");
        let names = self.durable.clone();
        let has_parent = |path: &Path| {
            path.parent().is_some_and(|parent| parent == root || names.contains_key(parent))
        };
        self.durable.retain(|path, _| has_parent(path));
    }

    fn forget_removed_files(&mut self) {
        let mut named = vec![false; self.inodes.len()];
        for node in self.names.values() {
            if let Node::File(inode) = node {
                named[*inode] = true;
            }
        }
        for (inode, _) in self.inodes.iter_mut().zip(named).filter(|(_, named)| !named) {
            *inode = Inode::default();
        }
    }

    fn note(&mut self, change: Change) {
        apply(&mut self.names, change.clone());
        self.pending.push(change);
    }
}

impl Change {
    fn touches(&self, directory: &Path) -> bool {
        let inside = |path: &Path| path.parent() == Some(directory);
        match self {
            Self::Add(path, _) | Self::Remove(path, _) => inside(path),
            Self::Rename(from, to, _) => inside(from) || inside(to),
        }
    }
}

/// Changes names.
fn apply(names: &mut Names, change: Change) {
    match change {
        Change::Add(path, node) => {
            names.entry(path).or_insert(node);
        }
        Change::Rename(from, to, node) => {
            if names.get(&from) == Some(&node) {
                names.remove(&from);
            }
            names.insert(to, node);
        }
        Change::Remove(path, node) => {
            if names.get(&path) == Some(&node) {
                names.remove(&path);
            }
        }
    }
}

fn eio() -> io::Error {
    io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error())
}

fn enospc() -> io::Error {
    io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error())
}
