//! Which checks a VFS makes. Tests leave one out, to show that they would notice.

/// The checks of a VFS. [`register`](crate::register) makes all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Pages of the database file are verified when they are read.
    pub pages: bool,
    /// A page's checksum depends on its number.
    pub numbers: bool,
    /// Pages in the write-ahead log are verified when they are read.
    pub wal: bool,
}

impl Checks {
    pub const ALL: Self = Self { pages: true, numbers: true, wal: true };

    /// The number that goes into the checksum of a page.
    pub(crate) fn number(self, number: u32) -> u32 {
        if self.numbers { number } else { 0 }
    }
}
