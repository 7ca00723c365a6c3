//! A log on a simulated disk, with the history that it must not forget.

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::files::Files;
use crate::files::simulated::SimulatedDisk;
use crate::{
    AppendError, Base, Durability, Entry, Log, LogError, Prepare, SegmentLog, SegmentOptions,
};

pub(super) const DIRECTORY: &str = "/data/log";

/// What goes wrong in a test is returned, so that planted bugs can be told from those that are not.
pub(super) type Checked<T = ()> = Result<T, String>;

/// A log and what was acknowledged.
pub(super) struct World<F: Files> {
    pub(super) disk: SimulatedDisk,
    pub(super) files: F,
    pub(super) log: Option<SegmentLog<F>>,
    pub(super) history: History,
    pub(super) rng: fastrand::Rng,
    pub(super) durability: Durability,
    pub(super) prepare: Prepare,
}

/// All records ever acknowledged; the log may have given up those that are not needed.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub(super) acknowledged: Vec<Entry>,
    /// The record whose append failed: it may be in the log or not.
    pub(super) uncertain: Option<Entry>,
    /// Records from here on must be in the log.
    pub(super) needed: u64,
}

impl<F: Files> World<F> {
    pub(super) fn new(seed: u64, wrap: impl FnOnce(SimulatedDisk) -> F) -> Self {
        let disk = SimulatedDisk::new(seed);
        disk.create_dir(Path::new("/data")).expect("the disk works");
        disk.sync_dir(Path::new("/")).expect("the disk works");
        Self {
            files: wrap(disk.clone()),
            disk,
            log: None,
            history: History { needed: 1, ..History::default() },
            rng: fastrand::Rng::with_seed(seed ^ 0x5eed),
            durability: Durability::Fsync,
            prepare: Prepare::InLine,
        }
    }

    pub(super) fn options(&mut self) -> SegmentOptions {
        SegmentOptions {
            segment_bytes: 16 << 10,
            first_segment_bytes: 4 << 10,
            spare_segments: 2,
            durability: self.durability,
            prepare: self.prepare,
            base: self.history.base(),
            create: true,
            seed: Some(self.rng.u64(..)),
        }
    }

    pub(super) fn open(&mut self) -> Result<(), LogError> {
        self.log = None;
        let options = self.options();
        self.log = Some(SegmentLog::open_with(self.files.clone(), Path::new(DIRECTORY), options)?);
        Ok(())
    }

    pub(super) fn log(&mut self) -> &mut SegmentLog<F> {
        self.log.as_mut().expect("the log is open")
    }

    /// An entry that follows the tip. Most are small, a few are larger than a segment.
    pub(super) fn next_entry(&mut self) -> Entry {
        let most = match self.rng.u8(..20) {
            0..8 => 100,
            8..14 => 1_500,
            14..19 => 6_000,
            _ => 20_000,
        };
        let mut payload = vec![0; self.rng.usize(..most)];
        self.rng.fill(&mut payload);
        let tip = self.log().tip();
        let term = tip.term + u64::from(self.rng.u8(..40) == 0);
        Entry { index: tip.index + 1, term, time: self.rng.i64(..), payload: payload.into() }
    }

    pub(super) fn append(&mut self) -> Result<(), AppendError> {
        let entry = self.next_entry();
        self.append_entry(entry)
    }

    pub(super) fn append_entry(&mut self, entry: Entry) -> Result<(), AppendError> {
        let appended = now(self.log().append(&entry));
        match &appended {
            Ok(()) => self.history.acknowledged.push(entry),
            Err(AppendError::Fatal(_)) => self.history.uncertain = Some(entry),
            Err(_) => {}
        }
        appended
    }

    /// One random operation. An error ends the use of the log.
    pub(super) fn step(&mut self) -> Result<(), String> {
        match self.rng.u8(..16) {
            0 => {
                let tip = self.history.acknowledged.len() as u64;
                let below = self.rng.u64(self.history.needed..=tip.max(self.history.needed));
                self.history.needed = below;
                now(self.log().truncate(below)).map_err(|error| error.to_string())
            }
            1..4 => now(self.log().settle()).map_err(|error| error.to_string()),
            _ => self.append().map_err(|error| error.to_string()),
        }
    }

    /// Checks what was found when the log was opened, and takes over an uncertain record.
    pub(super) fn check(&mut self) -> Checked {
        let log = self.log.as_mut().expect("the log is open");
        self.history.settle_uncertain(log.tip().index);
        self.history.check(log)
    }
}

impl History {
    /// What the caller has without the log.
    pub(super) fn base(&self) -> Base {
        let index = self.needed - 1;
        Base { index, term: self.term_at(index), checksum: 0 }
    }

    fn term_at(&self, index: u64) -> u64 {
        let at = index.checked_sub(1).and_then(|at| self.acknowledged.get(at as usize));
        at.map_or(0, |entry| entry.term)
    }

    fn settle_uncertain(&mut self, tip: u64) {
        let uncertain = self.uncertain.take();
        self.acknowledged.extend(uncertain.filter(|entry| entry.index == tip));
    }

    /// The log must have exactly the acknowledged records, at least those that are needed.
    pub(super) fn check<F: Files>(&self, log: &mut SegmentLog<F>) -> Checked {
        let (tip, first) = (log.tip(), log.first());
        let expected = self.acknowledged.len() as u64;
        if tip.index != expected {
            return Err(format!("the log ends at {}, not {expected}", tip.index));
        }
        if first > self.needed {
            return Err(format!("the log begins at {first}, but {} is needed", self.needed));
        }
        let mut from = first;
        while from <= tip.index {
            let read = now(log.read(from, 10_000)).map_err(|error| error.to_string())?;
            let at = from as usize - 1;
            if read.is_empty() || self.acknowledged.get(at..at + read.len()) != Some(&read[..]) {
                return Err(format!("record {from} or one of the next {} is wrong", read.len()));
            }
            from += read.len() as u64;
        }
        Ok(())
    }
}

/// Runs a future of a log, which never waits.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a log of segments never waits"),
    }
}
