//! The newest history is found among segments of several directories, some of them abandoned, lost or damaged.

use std::path::{Path, PathBuf};

use super::world::now;
use crate::files::Files;
use crate::files::simulated::SimulatedDisk;
use crate::{
    ArchiveWriter, Base, Entry, History, HistoryError, Log, Prepare, SegmentLog, SegmentOptions,
};

const ARCHIVE: &str = "/archive";

/// A server whose data was restored now and then, and an archive of everything it ever wrote.
struct Restored {
    disk: SimulatedDisk,
    rng: fastrand::Rng,
    /// The newest history: what a restore goes back behind is removed.
    records: Vec<(Entry, u64)>,
    /// Records that a restore has abandoned.
    abandoned: Vec<(Entry, u64)>,
    term: u64,
}

impl Restored {
    /// Some lives of a server, each of which goes back to a random record of the one before.
    fn new(seed: u64, lives: u64) -> Self {
        let disk = SimulatedDisk::new(seed);
        for directory in [ARCHIVE, "/data"] {
            disk.create_dir(Path::new(directory)).unwrap();
        }
        let rng = fastrand::Rng::with_seed(seed);
        let mut world = Self { disk, rng, records: Vec::new(), abandoned: Vec::new(), term: 0 };
        for _ in 0..lives {
            world.live();
        }
        world
    }

    fn live(&mut self) {
        let kept = self.rng.usize(..=self.records.len());
        self.abandoned.extend(self.records.drain(kept..));
        self.term += self.rng.u64(1..3);
        let directory = self.log();
        let options = SegmentOptions {
            segment_bytes: 8 << 10,
            first_segment_bytes: 4 << 10,
            prepare: Prepare::InLine,
            base: self.base(kept as u64),
            seed: Some(self.rng.u64(..)),
            ..SegmentOptions::default()
        };
        let mut log = SegmentLog::open_with(self.disk.clone(), &directory, options).unwrap();
        let mut archive =
            ArchiveWriter::new_with(self.disk.clone(), &directory, Path::new(ARCHIVE));
        for _ in 0..self.rng.u64(1..40) {
            let mut payload = vec![0; self.rng.usize(..3_000)];
            self.rng.fill(&mut payload);
            let index = log.tip().index + 1;
            let entry = Entry { index, term: self.term, time: 0, payload: payload.into() };
            now(log.append(&entry)).unwrap();
            self.records.push((entry, log.tip().checksum));
            if self.rng.bool() {
                archive.advance(index, self.rng.bool()).unwrap();
            }
        }
        archive.advance(log.tip().index, true).unwrap();
    }

    fn log(&self) -> PathBuf {
        format!("/data/log-{}", self.term).into()
    }

    fn base(&self, index: u64) -> Base {
        match index.checked_sub(1) {
            None => Base::default(),
            Some(at) => {
                let (entry, checksum) = &self.records[at as usize];
                Base { index, term: entry.term, checksum: *checksum }
            }
        }
    }

    fn read(&self, base: Base) -> Result<Vec<Entry>, (Vec<Entry>, HistoryError)> {
        let log = self.log();
        let directories = [Path::new(ARCHIVE), &log];
        let history = History::newest_with(self.disk.clone(), &directories)
            .map_err(|error| (Vec::new(), error.into()))?;
        let mut reader = history.read_after(base).map_err(|error| (Vec::new(), error))?;
        let mut entries = Vec::new();
        loop {
            match reader.next_records() {
                Ok(Some(records)) => {
                    entries.extend(records.into_iter().map(|record| record.entry));
                }
                Ok(None) => return Ok(entries),
                Err(error) => return Err((entries, error)),
            }
        }
    }

    fn expected(&self, base: Base) -> Vec<Entry> {
        self.records[base.index as usize..].iter().map(|(entry, _)| entry.clone()).collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        let paths = self.disk.paths();
        paths
            .into_iter()
            .filter(|path| path.starts_with(ARCHIVE) || path.starts_with(self.log()))
            .collect()
    }
}

#[test]
fn every_record_of_the_newest_history_is_read_from_any_of_them_on() {
    for seed in 0..150 {
        let world = Restored::new(seed, seed % 6 + 1);
        for index in 0..=world.records.len() as u64 {
            let base = world.base(index);
            let read = world.read(base).unwrap_or_else(|(_, error)| panic!("seed {seed}: {error}"));
            assert_eq!(read, world.expected(base), "seed {seed}, from {index}");
        }
    }
}

#[test]
fn an_abandoned_record_is_no_beginning() {
    let mut tried = 0;
    for seed in 200..300 {
        let world = Restored::new(seed, 5);
        for (entry, checksum) in &world.abandoned {
            let base = Base { index: entry.index, term: entry.term, checksum: *checksum };
            match world.read(base) {
                Err((read, HistoryError::Abandoned { .. })) => assert!(read.is_empty()),
                other => panic!("seed {seed}, record {}: {other:?}", entry.index),
            }
            tried += 1;
        }
    }
    assert!(tried > 1_000, "only {tried} records were abandoned");
}

#[test]
fn lost_and_damaged_files_lead_to_an_error_or_to_nothing_missing() {
    let (mut whole, mut gaps, mut damaged) = (0, 0, 0);
    for seed in 300..900 {
        let mut world = Restored::new(seed, seed % 4 + 1);
        for _ in 0..world.rng.u8(1..3) {
            let files = world.files();
            let path = &files[world.rng.usize(..files.len())];
            match world.rng.bool() {
                true => world.disk.remove(path).unwrap(),
                false => {
                    let (place, bit) = (world.rng.usize(..), world.rng.u8(..8));
                    world.disk.change(path, |content| {
                        let place = place % content.len();
                        content[place] ^= 1 << bit;
                    });
                }
            }
        }
        let index = world.rng.u64(..=world.records.len() as u64);
        let base = world.base(index);
        let expected = world.expected(base);
        match world.read(base) {
            // The end may be lost with its file; nothing else may.
            Ok(read) => {
                assert!(expected.starts_with(&read), "seed {seed}: wrong records");
                whole += u32::from(read == expected);
            }
            Err((read, error)) => {
                assert!(expected.starts_with(&read), "seed {seed}: wrong records before {error}");
                gaps += u32::from(matches!(error, HistoryError::Gap { .. }));
                damaged += u32::from(matches!(error, HistoryError::Damaged { .. }));
            }
        }
    }
    assert!(whole > 200 && gaps > 10 && damaged > 10, "{whole} {gaps} {damaged}");
}

/// What one copy has lost, the other may have.
#[test]
fn copies_complete_each_other() {
    let mut tried = 0;
    for seed in 900..1_100 {
        let mut world = Restored::new(seed, 1);
        let names: Vec<PathBuf> =
            world.files().into_iter().filter(|path| path.starts_with(ARCHIVE)).collect();
        for archived in names {
            let log = world.log().join(archived.file_name().unwrap());
            // Different records of both copies.
            let blocks = world.disk.content(&archived).len() / 512;
            if blocks < 8 {
                continue;
            }
            world.disk.change(&archived, |content| content[512 + 100] ^= 1);
            world.disk.change(&log, |content| content[(blocks - 1) * 512 + 100] ^= 1);
            tried += 1;
        }
        let damage_is_apart =
            |(_, error): &(Vec<Entry>, HistoryError)| matches!(error, HistoryError::Damaged { .. });
        match world.read(Base::default()) {
            Ok(read) => assert_eq!(read, world.expected(Base::default()), "seed {seed}"),
            // A segment with a single record has lost it in both.
            Err(error) => assert!(damage_is_apart(&error), "seed {seed}: {}", error.1),
        }
        world.rng.u8(..);
    }
    assert!(tried > 200, "{tried}");
}
