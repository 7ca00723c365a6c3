//! A set of regions.

use crate::RegionIndex;

/// A set of regions, one bit for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegionSet {
    words: Vec<u64>,
}

const BITS: usize = u64::BITS as usize;

impl RegionSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Adds a region.
    pub fn insert(&mut self, region: RegionIndex) {
        let word = region.0 / BITS;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (region.0 % BITS);
    }

    /// Whether the region is in the set.
    #[must_use]
    pub fn contains(&self, region: RegionIndex) -> bool {
        self.words.get(region.0 / BITS).is_some_and(|word| word >> (region.0 % BITS) & 1 == 1)
    }

    /// How many regions are in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Leaves only what is in the other set as well.
    pub fn keep(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (word, others) in self.words.iter_mut().zip(&other.words) {
            *word &= others;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(regions: &[usize]) -> RegionSet {
        let mut set = RegionSet::new();
        regions.iter().for_each(|region| set.insert(RegionIndex(*region)));
        set
    }

    #[test]
    fn it_holds_what_was_inserted_and_keeps_what_both_have() {
        let mut both = set(&[1, 63, 64, 700]);
        assert!(both.contains(RegionIndex(64)) && !both.contains(RegionIndex(65)));
        assert_eq!(both.len(), 4);
        both.keep(&set(&[63, 64, 65]));
        assert!(both.contains(RegionIndex(63)) && both.contains(RegionIndex(64)));
        assert!(!both.contains(RegionIndex(700)) && !both.contains(RegionIndex(1)));
        both.keep(&RegionSet::new());
        assert!(both.is_empty());
    }
}
