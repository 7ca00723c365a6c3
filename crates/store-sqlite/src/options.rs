use rota_model::Durability;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub durability: Durability,
    /// The size of the file that is deleted to make room when the disk is full; 0 keeps none.
    /// It should hold the log, which grows to 32 MiB and more, or the room may not be enough to
    /// move it.
    pub reserve_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { durability: Durability::Fsync, reserve_bytes: 64 << 20 }
    }
}
