//! What a log holds and what is wrong with it, without changing anything.

use std::ops::RangeInclusive;
use std::path::Path;

use super::block::BLOCK;
use super::directory::{Listing, size};
use super::name::spare;
use super::survey::{Survey, Surveyed, survey};
use crate::files::{Disk, Files};
use crate::{Damage, LogError, Tip};

/// What a log holds, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Oldest first.
    pub segments: Vec<SegmentReport>,
    /// The size of all segments and spare files, in bytes.
    pub bytes: u64,
    /// Everything that is damaged, in order.
    pub damage: Vec<Damage>,
    /// A segment with a format that this version does not read, and that format.
    pub newer: Option<(String, u16)>,
    /// Indexes that are lost if the log is cut at the first damage: damaged and readable ones. If
    /// the last is damaged, there may never have been such a record.
    pub lost: Option<RangeInclusive<u64>>,
    /// Those of them that are readable.
    pub readable_after_damage: Vec<RangeInclusive<u64>>,
    /// Whether an unacknowledged record at the end will be cut off at the next start.
    pub torn: bool,
}

/// One segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentReport {
    /// The file name.
    pub segment: String,
    pub term: u64,
    /// The index by which the segment is named.
    pub first: u64,
    /// The last readable index.
    pub last: Option<u64>,
    /// How many records are readable.
    pub records: u64,
    /// The times of the first and the last readable record, in milliseconds since the epoch.
    pub times: Option<(i64, i64)>,
    /// The size of the file, and how much of it is used, in bytes.
    pub bytes: u64,
    pub used: u64,
}

/// Reads the whole log in a directory.
pub fn inspect(directory: &Path) -> Result<Report, LogError> {
    inspect_with(&Disk, directory)
}

/// Like [`inspect`], on another file system.
pub fn inspect_with<F: Files>(files: &F, directory: &Path) -> Result<Report, LogError> {
    let listing = Listing::read(files, directory)?;
    let survey = survey(files, directory, &listing.segments)?;
    let mut bytes = survey.segments.iter().map(|segment| segment.bytes).sum();
    for &number in &listing.spares {
        bytes += size(files, &directory.join(spare(number)))?;
    }
    let readable_after_damage = match survey.damage.first() {
        Some(first) => ranges(survey.indexes().filter(|index| *index >= first.index)),
        None => Vec::new(),
    };
    Ok(Report {
        bytes,
        lost: lost(&survey),
        readable_after_damage,
        torn: survey.segments.last().is_some_and(|segment| segment.scan.torn),
        segments: survey.segments.iter().map(SegmentReport::from).collect(),
        damage: survey.damage,
        newer: survey.newer,
    })
}

/// Term and checksum of a record that the log has, or that its first one follows.
pub fn record_at(directory: &Path, index: u64) -> Result<Option<Tip>, LogError> {
    let listing = Listing::read(&Disk, directory)?;
    let segments = listing.after(index);
    // The header of the next segment is enough for the last record of this one.
    let survey = survey(&Disk, directory, &segments[..segments.len().min(2)])?;
    Ok(survey.record_at(index).map(|(term, checksum)| Tip { index, term, checksum }))
}

fn lost(survey: &Survey) -> Option<RangeInclusive<u64>> {
    let from = survey.damage.first()?.index;
    let damaged = survey.damage.iter().map(|damage| damage.index).max();
    Some(from..=survey.indexes().max().max(damaged).unwrap_or(from))
}

/// Joins ascending numbers to ranges.
fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<RangeInclusive<u64>> {
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(range) if range.end() + 1 == number => *range = *range.start()..=number,
            _ => ranges.push(number..=number),
        }
    }
    ranges
}

impl From<&Surveyed> for SegmentReport {
    fn from(surveyed: &Surveyed) -> Self {
        let Surveyed { name, bytes, scan } = surveyed;
        let (first, last) = (scan.records.first(), scan.records.last());
        let end = last.map_or(0, |last| u64::from(last.position) + last.head.blocks());
        Self {
            segment: name.to_string(),
            term: name.term,
            first: name.first,
            last: last.map(|last| last.head.index),
            records: scan.records.len() as u64,
            times: first.zip(last).map(|(first, last)| (first.head.time, last.head.time)),
            bytes: *bytes,
            used: end.max(u64::from(scan.end)) * BLOCK as u64,
        }
    }
}
