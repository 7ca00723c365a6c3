//! The names of files in the directory of a log.

use std::fmt;

/// A segment is named by the term and the index of its first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentName {
    pub first: u64,
    pub term: u64,
}

impl SegmentName {
    /// `None` if this is not the name of a segment.
    pub fn parse(name: &str) -> Option<Self> {
        let (term, first) = name.strip_suffix(".segment")?.split_once('-')?;
        Some(Self { term: number(term)?, first: number(first)? })
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}-{:020}.segment", self.term, self.first)
    }
}

/// A spare file that will become a segment.
pub(crate) fn spare(number: u64) -> String {
    format!("spare-{number}")
}

pub(crate) fn spare_number(name: &str) -> Option<u64> {
    name.strip_prefix("spare-")?.parse().ok()
}

fn number(digits: &str) -> Option<u64> {
    (digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().ok())?
}
