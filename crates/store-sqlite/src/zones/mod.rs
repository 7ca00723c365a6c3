//! Zones: which classes have jobs in which range of sequence numbers, so that lists can skip the rest.
//!
//! An index by class would cost an entry per job. Instead, sequence numbers are divided into zones of
//! 128. When the last number of a zone has been assigned, one row records the classes of its jobs.
//! A zone of a higher level covers 64 zones of the level below, so skipping a million jobs takes a
//! handful of rows. The newest zone has no row yet and is always scanned.
//!
//! A zone may name a class whose jobs are deleted, but never omits a class that has a job.

mod build;
mod class_set;
mod open_zones;
mod zone_range;

pub(crate) use build::build;
pub(crate) use class_set::{ClassSet, intersects};
pub(crate) use open_zones::OpenZones;
pub(crate) use zone_range::{ZoneRange, cover};

/// A zone of the highest level covers 33 million sequence numbers.
pub(crate) const LEVELS: usize = 4;
const BASE_BITS: usize = 7;
const FAN_BITS: usize = 6;

/// The zone of this level that contains a sequence number.
pub(crate) fn zone_of(level: usize, key: i64) -> i64 {
    key >> bits(level)
}

pub(crate) fn first_in(level: usize, zone: i64) -> i64 {
    zone << bits(level)
}

pub(crate) fn last_in(level: usize, zone: i64) -> i64 {
    first_in(level, zone) | ((1 << bits(level)) - 1)
}

/// The first and last zone of the level below.
pub(crate) fn below(zone: i64) -> (i64, i64) {
    let first = zone << FAN_BITS;
    (first, first | ((1 << FAN_BITS) - 1))
}

fn bits(level: usize) -> usize {
    BASE_BITS + FAN_BITS * level
}
