//! Bits are flipped in every kind of place of a database and its write-ahead log, and pages are put in the wrong place.
//! What is read is right, or an error. Each of the checks, left out, makes these tests fail.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fastrand::Rng;
use rota_sqlite_pages::{Checks, register, register_with};

use crate::database::open;
use crate::image::{Image, Outcome, PAGE};

const ROUNDS: usize = 1500;
const WAL_HEADER: usize = 32;
const FRAME: usize = 24 + PAGE;

/// Where a bit is flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Header,
    FirstPage,
    TablePage,
    IndexPage,
    /// Of a long row, or free.
    OtherPage,
    LogHeader,
    FrameHeader,
    FramePage,
}

const PLACES: [Place; 8] = [
    Place::Header,
    Place::FirstPage,
    Place::TablePage,
    Place::IndexPage,
    Place::OtherPage,
    Place::LogHeader,
    Place::FrameHeader,
    Place::FramePage,
];

/// What is checked when a database is read.
#[derive(Clone, Copy)]
struct Reader<'v> {
    vfs: &'v str,
    inspects_log: bool,
}

fn seed() -> u64 {
    let seed = std::env::var("ROTA_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("ROTA_SEED={seed}");
    seed
}

#[test]
fn what_a_start_reads_is_right_or_an_error() {
    let reader = Reader { vfs: register().unwrap(), inspects_log: true };
    let closed = Image::closed(reader.vfs);
    let mut outcomes = flip_before_start(reader, &Image::killed(reader.vfs), &PLACES, ROUNDS);
    outcomes.add_all(flip_before_start(reader, &closed, &PLACES[..5], ROUNDS));
    assert_nothing_wrong(&outcomes);
    for place in PLACES {
        let hits = outcomes.refused.get(&place).copied().unwrap_or(0);
        assert!(hits > 0, "no flipped bit in {place:?} was noticed");
    }
    assert!(outcomes.earlier > 0, "no damage at the end of the log");
}

#[test]
fn what_a_running_server_reads_is_right_or_an_error() {
    let vfs = register().unwrap();
    let mut outcomes = flip_while_running(vfs, &Image::killed(vfs), &PLACES, ROUNDS);
    outcomes.add_all(flip_while_running(vfs, &Image::closed(vfs), &PLACES[..5], ROUNDS));
    assert_nothing_wrong(&outcomes);
    for place in [Place::TablePage, Place::IndexPage, Place::OtherPage, Place::FramePage] {
        let hits = outcomes.refused.get(&place).copied().unwrap_or(0);
        assert!(hits > 0, "no flipped bit in {place:?} was noticed");
    }
}

#[test]
fn a_page_in_the_place_of_another_is_noticed() {
    let reader = Reader { vfs: register().unwrap(), inspects_log: true };
    let wrong = misplace(reader, 300);
    assert!(wrong.is_empty(), "{}: {:?}", wrong.len(), wrong.first());
}

#[test]
fn without_the_checksums_of_pages_the_tests_fail() {
    let vfs = "rota-pages-unverified";
    register_with(vfs, Checks { pages: false, ..Checks::ALL }).unwrap();
    let reader = Reader { vfs, inspects_log: true };
    let outcomes = flip_before_start(reader, &Image::closed(vfs), &PLACES[..5], ROUNDS);
    assert!(!outcomes.wrong.is_empty());
}

#[test]
fn without_the_checksums_in_the_log_the_tests_fail() {
    let vfs = "rota-pages-unverified-log";
    register_with(vfs, Checks { wal: false, ..Checks::ALL }).unwrap();
    assert!(!flip_while_running(vfs, &Image::killed(vfs), &PLACES[5..], ROUNDS).wrong.is_empty());
}

#[test]
fn without_page_numbers_in_the_checksums_the_tests_fail() {
    let vfs = "rota-pages-unnumbered";
    register_with(vfs, Checks { numbers: false, ..Checks::ALL }).unwrap();
    assert!(!misplace(Reader { vfs, inspects_log: true }, 300).is_empty());
}

#[test]
fn without_a_look_at_the_end_of_the_log_the_tests_fail() {
    let reader = Reader { vfs: register().unwrap(), inspects_log: false };
    let image = Image::killed(reader.vfs);
    let outcomes = flip_before_start(reader, &image, &PLACES[5..], ROUNDS);
    assert!(!outcomes.wrong.is_empty());
}

#[track_caller]
fn assert_nothing_wrong(outcomes: &Outcomes) {
    let first: Vec<_> = outcomes.wrong.iter().take(3).collect();
    assert!(first.is_empty(), "{} wrong: {first:#?}", outcomes.wrong.len());
}

#[derive(Default)]
struct Outcomes {
    refused: BTreeMap<Place, usize>,
    /// How often only an earlier transaction was there.
    earlier: usize,
    wrong: Vec<String>,
}

impl Outcomes {
    fn add_all(&mut self, others: Self) {
        for (place, hits) in others.refused {
            *self.refused.entry(place).or_default() += hits;
        }
        self.earlier += others.earlier;
        self.wrong.extend(others.wrong);
    }

    fn add(&mut self, image: &Image, place: Place, bit: usize, outcome: Outcome) {
        let is_in_log = matches!(place, Place::LogHeader | Place::FrameHeader | Place::FramePage);
        match outcome {
            Outcome::Refused => *self.refused.entry(place).or_default() += 1,
            Outcome::Right { transaction } if transaction == image.newest() => {}
            Outcome::Right { .. } if is_in_log => self.earlier += 1,
            outcome => self.wrong.push(format!("bit {bit} of {place:?}: {outcome:?}")),
        }
    }
}

/// The files are damaged between two runs of the server.
fn flip_before_start(
    reader: Reader<'_>,
    image: &Image,
    places: &[Place],
    rounds: usize,
) -> Outcomes {
    let mut rng = Rng::with_seed(seed());
    let directory = tempfile::tempdir().unwrap();
    let mut outcomes = Outcomes::default();
    for round in 0..rounds {
        let path = image.write(&directory);
        let place = places[round % places.len()];
        let bit = place.random_bit(image, &mut rng);
        flip(&path, place, bit);
        let outcome = image.start(&path, reader.vfs, reader.inspects_log);
        outcomes.add(image, place, bit, outcome);
    }
    outcomes
}

/// The files are damaged while a connection is open, and read by another.
fn flip_while_running(vfs: &str, image: &Image, places: &[Place], rounds: usize) -> Outcomes {
    let mut rng = Rng::with_seed(seed());
    let directory = tempfile::tempdir().unwrap();
    let mut outcomes = Outcomes::default();
    let path = image.write(&directory);
    let server = open(&path, vfs).unwrap();
    server.execute_batch("SELECT * FROM meta").unwrap();
    let first = image.read(&path, vfs);
    assert_eq!(first, Outcome::Right { transaction: image.newest() });
    for round in 0..rounds {
        let place = places[round % places.len()];
        let bit = place.random_bit(image, &mut rng);
        flip(&path, place, bit);
        match image.read(&path, vfs) {
            // What was verified once is what the connections know of the log.
            Outcome::Right { transaction } if transaction != image.newest() => {
                outcomes.wrong.push(format!("bit {bit} of {place:?}: transaction {transaction}"));
            }
            outcome => outcomes.add(image, place, bit, outcome),
        }
        flip(&path, place, bit);
    }
    drop(server);
    outcomes
}

/// Writes pages over others of the same kind.
fn misplace(reader: Reader<'_>, rounds: usize) -> Vec<String> {
    let mut rng = Rng::with_seed(seed());
    let image = Image::closed(reader.vfs);
    let directory = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for round in 0..rounds {
        let path = image.write(&directory);
        let place = [Place::TablePage, Place::IndexPage, Place::OtherPage][round % 3];
        let pages = place.pages(&image);
        let (from, to) = (pages[rng.usize(..pages.len())], pages[rng.usize(..pages.len())]);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let page = &image.database[from * PAGE..(from + 1) * PAGE];
        file.write_all_at(page, (to * PAGE) as u64).unwrap();
        match image.start(&path, reader.vfs, reader.inspects_log) {
            Outcome::Refused => {}
            Outcome::Right { transaction } if transaction == image.newest() => {}
            outcome => wrong.push(format!("page {from} over {to}: {outcome:?}")),
        }
    }
    wrong
}

impl Place {
    fn is_in_log(self) -> bool {
        matches!(self, Place::LogHeader | Place::FrameHeader | Place::FramePage)
    }

    /// A bit of its file.
    fn random_bit(self, image: &Image, rng: &mut Rng) -> usize {
        let frames = image.log.len().saturating_sub(WAL_HEADER) / FRAME;
        let frame = WAL_HEADER + rng.usize(..frames.max(1)) * FRAME;
        let byte = match self {
            Place::Header => rng.usize(..100),
            Place::FirstPage => rng.usize(..PAGE),
            Place::LogHeader => rng.usize(..WAL_HEADER),
            Place::FrameHeader => frame + rng.usize(..24),
            Place::FramePage => frame + 24 + rng.usize(..PAGE),
            Place::TablePage | Place::IndexPage | Place::OtherPage => {
                let pages = self.pages(image);
                pages[rng.usize(..pages.len())] * PAGE + rng.usize(..PAGE)
            }
        };
        byte * 8 + rng.usize(..8)
    }

    /// The pages of this kind, by their first byte; counted from 0.
    fn pages(self, image: &Image) -> Vec<usize> {
        let is_of_kind = |page: &usize| {
            let kind = image.database[page * PAGE];
            match self {
                Place::TablePage => matches!(kind, 5 | 13),
                Place::IndexPage => matches!(kind, 2 | 10),
                _ => !matches!(kind, 2 | 5 | 10 | 13),
            }
        };
        (1..image.database.len() / PAGE).filter(is_of_kind).collect()
    }
}

fn flip(path: &Path, place: Place, bit: usize) {
    let mut name = path.as_os_str().to_owned();
    if place.is_in_log() {
        name.push("-wal");
    }
    let file = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, (bit / 8) as u64).unwrap();
    byte[0] ^= 1 << (bit % 8);
    file.write_all_at(&byte, (bit / 8) as u64).unwrap();
}
