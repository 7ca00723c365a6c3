//! A log behind a blocking interface that panics on any error.

use bytes::Bytes;

use super::Fixture;
use crate::{AppendError, Base, Entry, Log, LogError, Tip};

pub(super) struct Driver<'f, F: Fixture> {
    fixture: &'f F,
    base: Base,
    log: F::Log,
}

impl<'f, F: Fixture> Driver<'f, F> {
    pub(super) fn open(fixture: &'f F) -> Self {
        Self::open_at(fixture, Base::default())
    }

    pub(super) fn open_at(fixture: &'f F, base: Base) -> Self {
        let log = fixture.open(base).expect("the log opens");
        Self { fixture, base, log }
    }

    pub(super) fn close(self) {
        self.fixture.block_on(self.log.close()).expect("the log closes");
    }

    pub(super) fn close_and_reopen(self) -> Self {
        let (fixture, base) = (self.fixture, self.base);
        self.close();
        Self::open_at(fixture, base)
    }

    pub(super) fn crash_and_reopen(self) -> Self {
        let (fixture, base) = (self.fixture, self.base);
        drop(self);
        Self::open_at(fixture, base)
    }

    /// From now on, reopens with this base.
    pub(super) fn set_base(&mut self, base: Base) {
        self.base = base;
    }

    pub(super) fn tip(&self) -> Tip {
        self.log.tip()
    }

    pub(super) fn first(&self) -> u64 {
        self.log.first()
    }

    /// The entry that follows the tip.
    pub(super) fn next(&self, payload: impl Into<Bytes>) -> Entry {
        let Tip { index, term, .. } = self.tip();
        Entry { index: index + 1, term, time: 1_000 + index as i64, payload: payload.into() }
    }

    pub(super) fn append(&mut self, payload: impl Into<Bytes>) -> Entry {
        let entry = self.next(payload);
        self.try_append(&entry).expect("the entry is appended");
        entry
    }

    pub(super) fn append_in_term(&mut self, term: u64, payload: impl Into<Bytes>) -> Entry {
        let entry = Entry { term, ..self.next(payload) };
        self.try_append(&entry).expect("the entry is appended");
        entry
    }

    pub(super) fn try_append(&mut self, entry: &Entry) -> Result<(), AppendError> {
        self.fixture.block_on(self.log.append(entry))
    }

    pub(super) fn settle(&mut self) {
        self.fixture.block_on(self.log.settle()).expect("the log settles");
    }

    pub(super) fn read(&mut self, from: u64, max_bytes: usize) -> Vec<Entry> {
        self.try_read(from, max_bytes).expect("the log is read")
    }

    pub(super) fn try_read(&mut self, from: u64, max_bytes: usize) -> Result<Vec<Entry>, LogError> {
        self.fixture.block_on(self.log.read(from, max_bytes))
    }

    /// All records that can be read.
    pub(super) fn read_all(&mut self) -> Vec<Entry> {
        self.read(self.first(), usize::MAX)
    }

    pub(super) fn truncate(&mut self, below: u64) {
        self.fixture.block_on(self.log.truncate(below)).expect("the log is truncated");
    }
}

/// Bytes that depend on all three arguments.
pub(super) fn payload(index: u64, version: u64, length: usize) -> Bytes {
    let mut rng = fastrand::Rng::with_seed(index ^ version.rotate_left(32));
    let mut bytes = vec![0; length];
    rng.fill(&mut bytes);
    bytes.into()
}
