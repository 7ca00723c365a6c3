//! The newest history that segments in several directories form: a log's own, and its archive.
//!
//! A restore abandons the records behind the moment it goes back to, and begins a new term there. The first
//! segment of that term names the record it follows. So the newest history is found by going back from the
//! newest segment of the highest term, and whatever is not on that way was abandoned.

mod error;
mod link;
mod reader;

use std::collections::BTreeMap;
use std::path::Path;

use super::directory::{Listing, path_of};
use super::name::SegmentName;
use crate::LogError;
use crate::files::{Disk, Files};
pub use error::HistoryError;
use link::Link;
pub use reader::{HistoryReader, HistoryRecord};

/// Segments that continue each other, oldest first.
pub struct History<F: Files = Disk> {
    files: F,
    links: Vec<Link>,
    highest_term: u64,
}

impl History {
    /// The newest history in these directories, any of which may be missing.
    pub fn newest(directories: &[&Path]) -> Result<Self, LogError> {
        Self::newest_with(Disk, directories)
    }
}

impl<F: Files> History<F> {
    /// Like [`History::newest`], on another file system.
    pub fn newest_with(files: F, directories: &[&Path]) -> Result<Self, LogError> {
        let mut found: BTreeMap<SegmentName, Link> = BTreeMap::new();
        for directory in directories {
            for &name in &Listing::read(&files, directory)?.segments {
                let link = found.entry(name).or_insert_with(|| Link::new(name));
                link.add(&files, path_of(directory, name))?;
            }
        }
        let highest_term = found.keys().map(|name| name.term).max().unwrap_or(0);
        let newest = found.keys().max_by_key(|name| (name.term, name.first)).copied();
        let mut links: Vec<Link> = Vec::new();
        let mut next = newest;
        while let Some(name) = next {
            let mut link = found.remove(&name).expect("it was found");
            link.last = links.last().map(|later| later.name.first - 1);
            next = parent(&found, &link);
            links.push(link);
        }
        links.reverse();
        Ok(Self { files, links, highest_term })
    }

    /// Whether there is no segment.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The index at which the oldest segment begins; 0 if there is none.
    pub fn first(&self) -> u64 {
        self.links.first().map_or(0, |link| link.name.first)
    }

    /// The highest term of any segment, abandoned ones included; 0 if there is none.
    pub fn highest_term(&self) -> u64 {
        self.highest_term
    }
}

/// The segment that has the record before the first of this one.
fn parent(found: &BTreeMap<SegmentName, Link>, link: &Link) -> Option<SegmentName> {
    let previous = link.previous?;
    if previous.index == 0 || previous.checksum == 0 {
        return None;
    }
    let before = found.keys().filter(|name| name.first <= previous.index);
    let of_term = before.filter(|name| match previous.term {
        0 => name.term <= link.name.term,
        term => name.term == term,
    });
    of_term.max_by_key(|name| (name.term, name.first)).copied()
}
