//! An open file of the simulated disk.

use std::io;

use super::SimulatedDisk;
use crate::files::FileHandle;

/// An open file of the simulated disk.
#[derive(Debug)]
pub struct SimulatedFile {
    pub(super) disk: SimulatedDisk,
    pub(super) inode: usize,
}

impl FileHandle for SimulatedFile {
    fn size(&self) -> io::Result<u64> {
        self.disk.lock().size(self.inode)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.lock().read_at(self.inode, buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        self.disk.lock().write_at(self.inode, buffer, offset)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.disk.lock().allocate(self.inode, len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.lock().sync_data(self.inode)
    }
}
