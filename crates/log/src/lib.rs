//! The commit log: what is appended to it is committed.
//!
//! [`Log`] is the interface, [`suite`] the tests that every implementation must pass, and
//! [`SegmentLog`] a log in a directory of files.
//!
//! A [`SegmentLog`] tells a torn record, which a power cut left behind and nobody was promised, from a
//! damaged one. Every record is laid out in blocks of one sector, each with its own checksum and
//! its segment's salt. A block that was never written is zero or has an older salt; only such
//! blocks are cut off, and only in the last record. A record is not written before the sync of the
//! one before it has returned, so a block of a later record, or the mark behind a record, proves
//! that the record was acknowledged. Anything else is damage: the log does not open and is not
//! changed.

mod damage;
mod error;
pub mod files;
mod log;
mod segment;
pub mod suite;

pub use damage::{Damage, DamageKind};
pub use error::{AppendError, LogError};
pub use log::{Base, Entry, Log, Tip};
pub use segment::{
    ArchiveError, ArchiveWriter, ArchivedSegment, Durability, History, HistoryError, HistoryReader,
    HistoryRecord, MAX_PAYLOAD, Prepare, Removed, Report, SegmentInfo, SegmentLog, SegmentName,
    SegmentOptions, SegmentReport, archive_end, cut_at_damage, cut_at_damage_with, highest_term,
    inspect, inspect_with, read_archived, read_archived_with, record_at, set_aside, set_aside_with,
};
