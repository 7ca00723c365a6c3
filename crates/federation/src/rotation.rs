//! Regions in turn, by weight.

use crate::RegionIndex;

/// The turns of all regions. Each region's next turn lies one step of `1 / weight` after its last one, and a region
/// that has missed turns does not catch up on them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rotation {
    /// When each region's last turn ended.
    ends: Vec<u64>,
    /// When the last turn began.
    round: u64,
}

/// The length of a turn at weight 1.
const TURN: u64 = 1 << 20;

impl Rotation {
    pub fn new(regions: usize) -> Self {
        Self { ends: vec![0; regions], round: 0 }
    }

    /// When the region's next turn begins. The earliest has it.
    pub fn begin(&self, region: RegionIndex) -> u64 {
        self.ends[region.position()].max(self.round)
    }

    /// Gives the region its turn.
    pub fn take(&mut self, region: RegionIndex, weight: u32) {
        self.round = self.begin(region);
        self.ends[region.position()] = self.round + TURN / u64::from(weight);
    }
}
