//! Which classes have jobs where: what lets a list of few jobs pass over very many others.
//!
//! An index by class would cost every job an entry. Instead, numbers are divided into zones, and each
//! zone tells the classes of its jobs once, when its last number has been given out: a row for every
//! 128 jobs, always at the end of the table. Zones of higher levels tell those of 64 below, so passing
//! over a million jobs takes a handful of rows. The zone of the newest jobs has no row yet, and is
//! always looked through.
//!
//! A zone may tell of classes whose jobs are gone; it never fails to tell of one that has a job.

mod build;
mod cover;
mod open;
mod set;

pub(crate) use build::build;
pub(crate) use cover::{Piece, cover};
pub(crate) use open::OpenZones;
pub(crate) use set::{ClassSet, meets};

/// Zones of the highest level hold 33 million numbers.
pub(crate) const LEVELS: usize = 4;
const BASE_BITS: usize = 7;
const FAN_BITS: usize = 6;

/// The zone of this level in which a number lies.
pub(crate) fn zone_of(level: usize, key: i64) -> i64 {
    key >> bits(level)
}

pub(crate) fn first_in(level: usize, zone: i64) -> i64 {
    zone << bits(level)
}

pub(crate) fn last_in(level: usize, zone: i64) -> i64 {
    first_in(level, zone) | ((1 << bits(level)) - 1)
}

/// The zones of the level below.
pub(crate) fn below(zone: i64) -> (i64, i64) {
    let first = zone << FAN_BITS;
    (first, first | ((1 << FAN_BITS) - 1))
}

fn bits(level: usize) -> usize {
    BASE_BITS + FAN_BITS * level
}
