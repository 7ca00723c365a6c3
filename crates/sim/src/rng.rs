//! A seeded random number generator.

/// A splitmix64 generator: small, fast, and the same on every machine.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A separate generator for one part of a run, so that a change in one part does not change the others.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// A number in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len() as u64) as usize)
    }

    /// One of the values; there must be at least one.
    pub fn one_of<T: Copy, const N: usize>(&mut self, all: [T; N]) -> T {
        all[self.below(N as u64) as usize]
    }

    /// An index, drawn in proportion to the weights.
    pub fn weighted<const N: usize>(&mut self, weights: [u64; N]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (i, weight) in weights.into_iter().enumerate() {
            match left.checked_sub(weight) {
                Some(rest) => left = rest,
                None => return i,
            }
        }
        N - 1
    }
}
