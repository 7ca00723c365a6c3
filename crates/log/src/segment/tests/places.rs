//! Every kind of place in the files of a log.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use crate::files::simulated::SimulatedDisk;
use crate::segment::block::{BLOCK, HEAD, Kind, Seen, examine};
use crate::segment::header::SegmentHead;
use crate::segment::name::SegmentName;
use crate::segment::record::RecordHead;

/// A kind of place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    SegmentHeader,
    BlockChecksum,
    BlockSalt,
    BlockHead,
    RecordHead,
    Payload,
    Padding,
    Mark,
    /// Left behind by the segment that the file was before, or by an append that failed.
    Stale,
    /// Never written.
    Unused,
}

impl Class {
    /// Whether a change here must be noticed.
    pub(super) fn is_record(self) -> bool {
        !matches!(self, Self::Mark | Self::Stale | Self::Unused)
    }
}

/// A range of bytes in a file, and the record that it belongs to.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) bytes: Range<usize>,
    pub(super) index: u64,
}

pub(super) type Places = BTreeMap<Class, Vec<Place>>;

/// All places in the segments on a disk, for a log that ends with this record.
pub(super) fn places(disk: &SimulatedDisk, tip: u64) -> Places {
    let mut places = Places::new();
    let segment = |path: PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(SegmentName::parse)?;
        Some((name.first, path))
    };
    let segments: BTreeMap<u64, PathBuf> = disk.paths().into_iter().filter_map(segment).collect();
    for (first, path) in &segments {
        let next = segments.range(first + 1..).next().map(|(next, _)| *next);
        let last = next.map_or(tip, |next| next - 1);
        let content = disk.content(path);
        let salt = SegmentHead::parse(&content[..BLOCK]).expect("the segment is intact").salt;
        let mut record = None;
        for (position, block) in content.chunks(BLOCK).enumerate() {
            let start = position * BLOCK;
            let mut add = |class: Class, bytes: Range<usize>, index: u64| {
                let bytes = start + bytes.start..start + bytes.end;
                let place = Place { path: path.clone(), bytes, index };
                places.entry(class).or_default().push(place);
            };
            match examine(block, position as u32) {
                Seen::Zero => add(Class::Unused, 0..BLOCK, 0),
                Seen::Damaged => panic!("the log is intact"),
                Seen::Whole(head) if head.salt != salt || head.index > last => {
                    add(Class::Stale, 0..BLOCK, 0);
                }
                Seen::Whole(head) => match head.kind {
                    Kind::Segment => add(Class::SegmentHeader, 0..BLOCK, head.index),
                    Kind::Mark => add(Class::Mark, 0..BLOCK, head.index),
                    Kind::Record => {
                        if head.number == 0 {
                            record = Some((RecordHead::parse(block), head.attempt));
                        }
                        let Some((whole, attempt)) = record else { continue };
                        if (whole.index, attempt) != (head.index, head.attempt) {
                            add(Class::Stale, 0..BLOCK, 0);
                            continue;
                        }
                        add(Class::BlockChecksum, 0..8, head.index);
                        add(Class::BlockSalt, 8..16, head.index);
                        add(Class::BlockHead, 16..HEAD, head.index);
                        let from = if head.number == 0 { HEAD + 48 } else { HEAD };
                        if head.number == 0 {
                            add(Class::RecordHead, HEAD..HEAD + 48, head.index);
                        }
                        let before = (head.number as usize * (BLOCK - HEAD)).saturating_sub(48);
                        let end = (from + whole.payload as usize - before).min(BLOCK);
                        add(Class::Payload, from..end, head.index);
                        add(Class::Padding, end..BLOCK, head.index);
                    }
                },
            }
        }
    }
    for places in places.values_mut() {
        places.retain(|place| !place.bytes.is_empty());
    }
    places
}
