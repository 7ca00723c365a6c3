/// What a commit promises when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The disk has it: it survives a loss of power.
    #[default]
    Fsync,
    /// The operating system has it: it survives the end of the process, but the last commits may
    /// be lost with the power. The file stays consistent.
    Os,
}

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
