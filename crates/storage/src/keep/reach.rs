//! How far back the log is kept, so that the newest backup can be continued.

use std::fs;
use std::path::{Path, PathBuf};

use rota_log::SegmentName;
use rota_store_sqlite::free_bytes;

use crate::{BackupRecord, log_directory};

/// Decides from which index on the log is needed for the newest backup.
pub(super) struct Reach {
    dir: PathBuf,
    keep_bytes: u64,
    has_archive: bool,
    /// What was said last about the chain from the newest backup.
    chain: Chain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chain {
    Unknown,
    Whole,
    Broken,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    first: u64,
    bytes: u64,
}

/// Segments that are given up at once when they need not be kept any longer: each costs a sync.
const AT_ONCE: usize = 8;
/// The part of the free disk space that the kept segments may take up.
const PART_OF_FREE: u64 = 4;

impl Reach {
    pub(super) fn new(dir: PathBuf, keep_bytes: u64, has_archive: bool) -> Self {
        Self { dir, keep_bytes, has_archive, chain: Chain::Unknown }
    }

    /// The lowest index that is to be kept; `u64::MAX` for none.
    pub(super) fn needed(&mut self) -> u64 {
        let segments = segments(&log_directory(&self.dir));
        let Some(oldest) = segments.first() else { return 0 };
        let from = self.continues_at();
        let is_whole =
            self.keep_bytes > 0 && from >= oldest.first && from >= self.affordable(&segments);
        self.report(from, is_whole);
        if is_whole {
            return from;
        }
        // Some stay for now.
        segments.get(AT_ONCE).map_or(u64::MAX, |segment| segment.first)
    }

    /// The record that follows the newest backup; the first one, if there is no backup.
    fn continues_at(&self) -> u64 {
        match BackupRecord::read(&self.dir) {
            Ok(Some(backup)) => backup.index + 1,
            Ok(None) => 1,
            Err(error) => {
                tracing::debug!(%error, "the newest backup is unknown");
                1
            }
        }
    }

    /// The first index of the oldest segment that may be kept.
    fn affordable(&self, segments: &[Segment]) -> u64 {
        let bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
        let free = free_bytes(&self.dir).map(|free| (free + bytes) / PART_OF_FREE);
        let most = self.keep_bytes.min(free.unwrap_or(u64::MAX));
        let mut kept = 0;
        let within = segments.iter().rev().take_while(|segment| {
            kept += segment.bytes;
            kept <= most
        });
        within.last().map_or(u64::MAX, |segment| segment.first)
    }

    fn report(&mut self, from: u64, is_whole: bool) {
        let chain = if is_whole { Chain::Whole } else { Chain::Broken };
        if self.chain == Chain::Whole && chain == Chain::Broken && !self.has_archive {
            tracing::warn!(
                backup = from - 1,
                "the log grows beyond what is kept of it (log.keep_bytes, or a quarter of the free disk space), so the \
                 newest backup cannot be continued by it any more: make another backup"
            );
        }
        self.chain = chain;
    }
}

/// The first index that a log has; `None` without segments.
pub(super) fn first_index(log: &Path) -> Option<u64> {
    segments(log).first().map(|segment| segment.first)
}

/// The segments of a log, oldest first.
fn segments(log: &Path) -> Vec<Segment> {
    let Ok(entries) = fs::read_dir(log) else { return Vec::new() };
    let segment = |entry: fs::DirEntry| {
        let name = SegmentName::parse(entry.file_name().to_str()?)?;
        Some(Segment { first: name.first, bytes: entry.metadata().ok()?.len() })
    };
    let mut segments: Vec<Segment> = entries.flatten().filter_map(segment).collect();
    segments.sort_by_key(|segment| segment.first);
    segments
}
