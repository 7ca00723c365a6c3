//! SQLite's write-ahead log: its format, what is known of its frames, and what is behind its end.

mod format;
mod frames;
mod inspect;

pub(crate) use format::{FRAME_HEADER, FrameHeader, WAL_HEADER, WalHeader};
pub(crate) use frames::{Frames, shared};
pub use inspect::{WalTail, inspect_wal};
