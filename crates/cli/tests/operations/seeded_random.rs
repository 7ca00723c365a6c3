//! Randomness that a seed repeats.

/// SplitMix64.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed that the environment names, or else always the same: what is found by chance is
    /// looked for on purpose, and not while something else is tested.
    pub fn seed() -> u64 {
        let given = std::env::var("ROTA_SEED").ok();
        given.map_or(1, |text| text.parse().expect("ROTA_SEED is a number"))
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to, and not including, `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.roll() % end.max(1) as u64) as usize
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.roll() % 100 < chance
    }

    /// A UUIDv7, as a client would choose one.
    pub fn job_id(&mut self) -> String {
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as u64);
        let (a, b) = (self.roll(), self.roll());
        format!(
            "{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}",
            (now >> 16) & 0xffff_ffff,
            now & 0xffff,
            a & 0xfff,
            0x8000 | (a >> 12) & 0x3fff,
            b & 0xffff_ffff_ffff,
        )
    }
}
