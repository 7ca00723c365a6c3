//! Bits are flipped in every kind of place. What is read is right, or the damage is reported.

use std::collections::BTreeMap;
use std::path::Path;

use super::places::{Class, Places, places};
use super::world::{Checked, DIRECTORY, History, World, now};
use crate::files::Files;
use crate::files::simulated::{Fault, SimulatedDisk};
use crate::segment::block::BLOCK;
use crate::{Log, LogError, Prepare, SegmentLog, SegmentOptions};

/// A log that was used for a while and is closed now.
pub(super) struct Used {
    disk: SimulatedDisk,
    history: History,
    places: Places,
    /// Whether a mark follows the last record.
    settled: bool,
    rng: fastrand::Rng,
}

#[test]
fn a_flipped_bit_is_reported_or_has_no_effect() {
    let mut counts: BTreeMap<Class, [u32; 2]> = BTreeMap::new();
    for seed in 0..60 {
        let mut used = Used::new(seed);
        for trial in 0..150 {
            let (class, reported) = used
                .flip_and_open(|disk| disk)
                .unwrap_or_else(|error| panic!("seed {seed}, trial {trial}: {error}"));
            counts.entry(class).or_default()[usize::from(reported)] += 1;
        }
    }
    println!("class, without effect, reported: {counts:#?}");
    assert_eq!(counts.len(), 10, "every kind of place was hit");
    for (class, [harmless, reported]) in counts {
        assert!(harmless + reported > 300, "{class:?} was hit too rarely");
        assert!(harmless == 0 || !class.is_record(), "damage in {class:?} was overlooked");
    }
}

#[test]
fn a_bit_flipped_while_the_log_is_open_is_never_read() {
    for seed in 100..130 {
        let mut used = Used::new(seed);
        for trial in 0..50 {
            used.flip_and_read()
                .unwrap_or_else(|error| panic!("seed {seed}, trial {trial}: {error}"));
        }
    }
}

#[test]
fn a_lost_sector_of_a_settled_log_is_reported() {
    for seed in 200..240 {
        lose_sectors(seed, settle).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

/// Sectors of records become zero, as if they had never been written.
pub(super) fn lose_sectors(seed: u64, settle: fn(&mut SegmentLog<SimulatedDisk>)) -> Checked {
    let mut used = Used::with(seed, settle);
    for _ in 0..40 {
        let class = [Class::BlockSalt, Class::RecordHead][used.rng.usize(..2)];
        let place = used.rng.choice(&used.places[&class]).expect("there are records").clone();
        // The last record may be torn, as far as anyone can tell, until it is settled.
        if place.index == used.history.acknowledged.len() as u64 && !used.settled {
            continue;
        }
        let disk = used.disk.fork(seed);
        let block = place.bytes.start / BLOCK * BLOCK;
        disk.change(&place.path, |content| content[block..block + BLOCK].fill(0));
        match used.open(disk) {
            Err(LogError::Damaged(damage)) if damage.index <= place.index => {}
            Err(error) => return Err(format!("not reported as it should be: {error}")),
            Ok(_) => return Err(format!("the loss of record {} was overlooked", place.index)),
        }
    }
    Ok(())
}

fn settle(log: &mut SegmentLog<SimulatedDisk>) {
    now(log.settle()).expect("the disk works");
}

impl Used {
    pub(super) fn new(seed: u64) -> Self {
        Self::with(seed, settle)
    }

    /// Recycles segments, leaves parts of failed appends behind, and ends in any state.
    fn with(seed: u64, settle: fn(&mut SegmentLog<SimulatedDisk>)) -> Self {
        let mut world = World::new(seed, |disk| disk);
        for _ in 0..3 {
            world.open().expect("the log opens");
            world.check().expect("the log is right");
            for _ in 0..60 {
                world.step().expect("the disk works");
            }
            let cut = world.disk.calls() + world.rng.u64(..10);
            world.disk.fail_at(cut, Fault::PowerCut);
            while world.step().is_ok() {}
            world.log = None;
            world.disk.restart();
        }
        world.open().expect("the log opens");
        world.check().expect("the log is right");
        while world.log().first() == 1 || world.history.acknowledged.len() < 60 {
            world.step().expect("the disk works");
        }
        while world.append().is_err() {}
        let settled = world.rng.bool();
        if settled {
            settle(world.log());
        }
        // What a power cut brought back is checked, too.
        world.history.needed = world.log().first();
        world.log = None;
        let places = places(&world.disk, world.history.acknowledged.len() as u64);
        Self { disk: world.disk, history: world.history, places, settled, rng: world.rng }
    }

    pub(super) fn disk(&self) -> &SimulatedDisk {
        &self.disk
    }

    pub(super) fn history(&self) -> &History {
        &self.history
    }

    /// A copy of the disk with flipped bits.
    pub(super) fn damaged(&mut self, seed: u64) -> SimulatedDisk {
        let disk = self.disk.fork(seed);
        self.flip(&disk);
        disk
    }

    pub(super) fn open<F: Files>(&self, files: F) -> Result<SegmentLog<F>, LogError> {
        let options = SegmentOptions {
            segment_bytes: 16 << 10,
            prepare: Prepare::InLine,
            base: self.history.base(),
            ..SegmentOptions::default()
        };
        SegmentLog::open_with(files, Path::new(DIRECTORY), options)
    }

    /// Returns where a bit was flipped, and whether that was reported.
    pub(super) fn flip_and_open<F: Files>(
        &mut self,
        wrap: fn(SimulatedDisk) -> F,
    ) -> Checked<(Class, bool)> {
        let disk = self.disk.fork(1);
        let class = self.flip(&disk);
        let before: Vec<_> = disk.paths().iter().map(|path| disk.content(path)).collect();
        match self.open(wrap(disk.clone())) {
            Ok(mut log) => {
                self.history.check(&mut log).map_err(|error| format!("{class:?}: {error}"))?;
                self.go_on(log, wrap(disk))?;
                Ok((class, false))
            }
            Err(LogError::Damaged(_)) => {
                let after: Vec<_> = disk.paths().iter().map(|path| disk.content(path)).collect();
                if before == after { Ok((class, true)) } else { Err("the log was changed".into()) }
            }
            Err(error) => Err(format!("{class:?}: not reported as damage: {error}")),
        }
    }

    /// Overwrites what was flipped without effect, if it is near the end.
    fn go_on<F: Files>(&self, mut log: SegmentLog<F>, files: F) -> Checked {
        let mut history = self.history.clone();
        for _ in 0..3 {
            let tip = log.tip();
            let payload = vec![7; 700].into();
            let entry = crate::Entry { index: tip.index + 1, term: tip.term, time: 0, payload };
            now(log.append(&entry)).map_err(|error| error.to_string())?;
            history.acknowledged.push(entry);
        }
        drop(log);
        match self.open(files) {
            Ok(mut log) => history.check(&mut log),
            Err(LogError::Damaged(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn flip_and_read(&mut self) -> Checked {
        let disk = self.disk.fork(1);
        let mut log = self.open(disk.clone()).map_err(|error| error.to_string())?;
        if self.rng.bool() {
            now(log.read(log.first(), 10_000)).map_err(|error| error.to_string())?;
        }
        let class = self.flip(&disk);
        let mut from = log.first();
        let mut reported = false;
        while from <= log.tip().index {
            let at = from as usize - 1;
            match now(log.read(from, 3_000)) {
                Ok(read) if self.history.acknowledged[at..at + read.len()] == read[..] => {
                    from += read.len() as u64;
                }
                Ok(_) => return Err(format!("{class:?}: wrong data from record {from} on")),
                Err(LogError::Damaged(_)) => {
                    reported = true;
                    from += 1;
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        if class.is_record() && class != Class::SegmentHeader && !reported {
            return Err(format!("{class:?}: the damage was overlooked"));
        }
        Ok(())
    }

    /// Flips a bit, several bits, or all of them, in a place of any kind.
    fn flip(&mut self, disk: &SimulatedDisk) -> Class {
        let classes: Vec<Class> = self.places.keys().copied().collect();
        let class = classes[self.rng.usize(..classes.len())];
        let place = self.rng.choice(&self.places[&class]).expect("a kind has a place").clone();
        let count = [1, 1, 1, 2, 8, 300][self.rng.usize(..6)];
        disk.change(&place.path, |content| {
            let before = content.clone();
            while *content == before {
                for _ in 0..count {
                    content[self.rng.usize(place.bytes.clone())] ^= 1 << self.rng.u8(..8);
                }
            }
        });
        class
    }
}
