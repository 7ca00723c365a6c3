//! A log in a directory of segments.
//!
//! A segment is a file of fixed size that was filled with zeros before its first use, because a
//! sync takes twice as long while the file system still allocates space. Its first block is a header,
//! then come records and marks. A segment holds records of one term. It is written first, synced,
//! and only then given its name, so a named segment always has a record.

mod append;
mod archive;
mod archived;
mod block;
mod directory;
mod header;
mod history;
mod inspect;
mod name;
mod open;
mod options;
mod read;
mod record;
mod repair;
mod scan;
mod segment_log;
mod spares;
mod survey;
#[cfg(test)]
mod tests;
mod truncate;

pub use archive::{ArchiveError, ArchiveWriter, archive_end, highest_term};
pub use archived::{ArchivedSegment, read_archived, read_archived_with};
pub use history::{History, HistoryError, HistoryReader, HistoryRecord};
pub use inspect::{Report, SegmentReport, inspect, inspect_with, record_at};
pub use name::SegmentName;
pub use options::{Durability, Prepare, SegmentOptions};
pub use record::MAX_PAYLOAD;
pub use repair::{Removed, cut_at_damage, cut_at_damage_with, set_aside, set_aside_with};
pub use segment_log::{SegmentInfo, SegmentLog};
