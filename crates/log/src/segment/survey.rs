//! Scans several segments, and how they follow each other.

use std::path::Path;

use super::directory::{path_of, read_segment};
use super::name::SegmentName;
use super::scan::{Context, Scan, scan};
use crate::files::Files;
use crate::{Damage, LogError};

/// What consecutive segments hold.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) segments: Vec<Surveyed>,
    /// All damage, in order.
    pub(crate) damage: Vec<Damage>,
    /// The first segment with a format that this version does not read, and that format.
    pub(crate) newer: Option<(String, u16)>,
}

#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) name: SegmentName,
    pub(crate) bytes: u64,
    pub(crate) scan: Scan,
}

/// Scans segments that follow each other and end with the newest.
pub(crate) fn survey<F: Files>(
    files: &F,
    directory: &Path,
    names: &[SegmentName],
) -> Result<Survey, LogError> {
    let mut survey = Survey::default();
    let mut previous = None;
    for (at, &name) in names.iter().enumerate() {
        let content = read_segment(files, &path_of(directory, name))?;
        let last = names.get(at + 1).map(|next| next.first.saturating_sub(1));
        let mut scan = scan(name, &content, Context { previous, last });
        let newest = scan.records.last().filter(|located| Some(located.head.index) == last);
        previous = newest.map(|located| (located.head.checksum, located.head.term));
        survey.damage.append(&mut scan.damage);
        if let Some(version) = scan.newer {
            survey.newer.get_or_insert((name.to_string(), version));
        }
        survey.segments.push(Surveyed { name, bytes: content.len() as u64, scan });
    }
    survey.count_following();
    Ok(survey)
}

impl Survey {
    /// The indexes of all readable records, in order.
    pub(crate) fn indexes(&self) -> impl DoubleEndedIterator<Item = u64> {
        let scans = self.segments.iter().map(|segment| &segment.scan);
        scans.flat_map(|scan| &scan.records).map(|located| located.head.index)
    }

    /// Term and checksum of a record, which may be the one before the first.
    pub(crate) fn record_at(&self, index: u64) -> Option<(u64, u64)> {
        let headers = self.segments.iter().filter_map(|segment| segment.scan.header);
        let before = headers.filter(|header| header.first == index + 1);
        let scans = self.segments.iter().map(|segment| &segment.scan);
        let records = scans.flat_map(|scan| &scan.records).map(|located| located.head);
        let at = records.filter(|head| head.index == index);
        let at = at.map(|head| (head.term, head.checksum));
        at.chain(before.map(|header| (header.previous_term, header.previous))).next()
    }

    fn count_following(&mut self) {
        let mut damage = std::mem::take(&mut self.damage);
        for damage in &mut damage {
            let following = self.indexes().filter(|index| *index >= damage.index);
            damage.following = Some(following.count() as u64);
        }
        self.damage = damage;
    }
}
