//! Counts what is looked up on behalf of callers. A caller must not be able to tell a thing of another tenant
//! from one that does not exist by the work that it takes to find out.

use std::sync::atomic::{AtomicU64, Ordering};

use super::source::Source;

#[derive(Debug, Default)]
pub struct Lookups {
    engine: AtomicU64,
    store: AtomicU64,
}

/// How much was looked up so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LookupCounts {
    /// Requests to the engine, and looks at its state.
    pub engine: u64,
    /// Reads from the store, and ids that the engine thread has read from it.
    pub store: u64,
}

impl Lookups {
    /// What the server does by itself is not counted.
    pub(super) fn count_engine(&self, source: &Source) {
        if *source != Source::Server {
            self.engine.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn count_store(&self, source: &Source) {
        if *source != Source::Server {
            self.store.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn count_ids(&self, ids: usize) {
        self.store.fetch_add(ids as u64, Ordering::Relaxed);
    }

    pub fn counts(&self) -> LookupCounts {
        LookupCounts {
            engine: self.engine.load(Ordering::Relaxed),
            store: self.store.load(Ordering::Relaxed),
        }
    }
}
