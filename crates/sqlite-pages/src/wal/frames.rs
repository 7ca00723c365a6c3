//! What this process knows of the pages in a write-ahead log: a hash for every page that it has written or verified.
//!
//! SQLite verifies frames only when it recovers a log. Comparing a page with its hash costs a fraction of verifying its
//! frame, which is left to pages that another process has written.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use twox_hash::XxHash3_64;

use super::WalHeader;

/// The hashes of one log, shared by all connections of the process.
#[derive(Default)]
pub(crate) struct Frames {
    header: Option<WalHeader>,
    hashes: Vec<Option<u64>>,
}

impl Frames {
    pub fn header(&self) -> Option<WalHeader> {
        self.header
    }

    /// The log begins anew under this header; nothing is known of what is in the file.
    pub fn restart(&mut self, header: Option<WalHeader>) {
        if self.header != header {
            self.header = header;
            self.hashes.clear();
        }
    }

    /// Whether the page is the one that was written; `None` if that is unknown.
    pub fn matches(&self, frame: u64, page: &[u8]) -> Option<bool> {
        let hash = (*self.hashes.get(usize::try_from(frame).ok()?)?)?;
        Some(hash == XxHash3_64::oneshot(page))
    }

    pub fn set(&mut self, frame: u64, page: &[u8]) {
        self.put(frame, Some(XxHash3_64::oneshot(page)));
    }

    pub fn forget(&mut self, frame: u64) {
        self.put(frame, None);
    }

    fn put(&mut self, frame: u64, hash: Option<u64>) {
        let Ok(index) = usize::try_from(frame) else { return };
        if self.hashes.len() <= index {
            self.hashes.resize(index + 1, None);
        }
        self.hashes[index] = hash;
    }
}

type Registry = HashMap<PathBuf, Weak<Mutex<Frames>>>;

static OPEN: Mutex<Option<Registry>> = Mutex::new(None);

/// The hashes of the log with this path.
pub(crate) fn shared(path: &Path) -> Arc<Mutex<Frames>> {
    let mut open: MutexGuard<'_, Option<Registry>> =
        OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_default();
    open.retain(|_, frames| frames.strong_count() > 0);
    if let Some(frames) = open.get(path).and_then(Weak::upgrade) {
        return frames;
    }
    let frames = Arc::new(Mutex::new(Frames::default()));
    open.insert(path.to_owned(), Arc::downgrade(&frames));
    frames
}
