//! The SplitMix64 random number generator.
//!
//! Stored ids and the seeds of the simulation depend on its exact output, which crates such as
//! `fastrand` may change between versions.

/// The increment of the sequence: 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A pseudo-random sequence determined by its seed.
#[derive(Debug, Clone)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next number of the sequence.
    pub fn next_u64(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(GAMMA);
        number
    }
}

/// The number after the state `z`; every bit of `z` affects every bit of the result.
pub(crate) fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(GAMMA);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_reference_implementation() {
        let mut random = SplitMix64(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
