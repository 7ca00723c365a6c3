//! The content of a simulated file: as programs see it, and as it would be after a power cut.

use std::collections::{BTreeMap, BTreeSet};

use super::SECTOR;

#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    /// What programs see.
    pub(super) data: Vec<u8>,
    /// What is on the disk.
    durable: Vec<u8>,
    /// The versions of each sector since the last sync, oldest first.
    dirty: BTreeMap<usize, Vec<Vec<u8>>>,
    /// Sectors whose sync failed: a later sync does not write them.
    lost: BTreeSet<usize>,
}

impl Inode {
    pub(super) fn write(&mut self, buffer: &[u8], offset: usize) {
        let end = offset + buffer.len();
        if self.data.len() < end {
            self.data.resize(end, 0);
        }
        self.data[offset..end].copy_from_slice(buffer);
        if buffer.is_empty() {
            return;
        }
        for sector in offset / SECTOR..=(end - 1) / SECTOR {
            let version = self.sector(sector);
            self.dirty.entry(sector).or_default().push(version);
            self.lost.remove(&sector);
        }
    }

    pub(super) fn extend(&mut self, len: usize) {
        if self.data.len() < len {
            self.data.resize(len, 0);
        }
    }

    pub(super) fn sync(&mut self) {
        self.durable.resize(self.data.len(), 0);
        for sector in std::mem::take(&mut self.dirty).into_keys() {
            self.persist(sector, &self.sector(sector));
        }
    }

    /// A sync that failed: some sectors were written, and the others never will be.
    pub(super) fn fail_to_sync(&mut self, rng: &mut fastrand::Rng) {
        for sector in std::mem::take(&mut self.dirty).into_keys() {
            if rng.bool() {
                self.persist(sector, &self.sector(sector));
            } else {
                self.lost.insert(sector);
            }
        }
    }

    pub(super) fn power_cut(&mut self, rng: &mut fastrand::Rng, tearing: bool) {
        if self.is_synced() {
            return;
        }
        if rng.bool() {
            self.durable.resize(self.data.len().max(self.durable.len()), 0);
        }
        // Sometimes everything or nothing was written, mostly a part.
        let kept = match rng.u8(..8) {
            0 => 0,
            1 => 100,
            _ => rng.u32(1..100),
        };
        for (sector, versions) in std::mem::take(&mut self.dirty) {
            if rng.u32(..100) < kept {
                let version =
                    if rng.u8(..4) == 0 { rng.usize(..versions.len()) } else { versions.len() - 1 };
                let content = &versions[version];
                let torn = tearing && rng.u8(..4) == 0;
                let written = if torn { rng.usize(..content.len()) } else { content.len() };
                self.persist(sector, &content[..written]);
            }
        }
        self.lost.clear();
        self.data = self.durable.clone();
    }

    pub(super) fn change(&mut self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.data);
        self.durable = self.data.clone();
        self.dirty.clear();
    }

    /// Only what is on the disk.
    pub(super) fn durable_copy(&self) -> Self {
        Self { data: self.durable.clone(), durable: self.durable.clone(), ..Self::default() }
    }

    fn is_synced(&self) -> bool {
        self.dirty.is_empty() && self.lost.is_empty() && self.data.len() == self.durable.len()
    }

    fn sector(&self, sector: usize) -> Vec<u8> {
        let start = sector * SECTOR;
        self.data[start..self.data.len().min(start + SECTOR)].to_vec()
    }

    fn persist(&mut self, sector: usize, content: &[u8]) {
        let start = sector * SECTOR;
        let end = start + content.len();
        if self.durable.len() < end {
            self.durable.resize(end, 0);
        }
        self.durable[start..end].copy_from_slice(content);
    }
}
