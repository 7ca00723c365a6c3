//! Random sequences of operations, checked against a list in memory.

use super::Fixture;
use super::driver::{Driver, payload};
use crate::{Base, Entry};

pub fn random_walks_match_a_model<F: Fixture>(fixture: &F) {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut log = Driver::open(fixture);
    // All entries ever appended; the log may have given up the first.
    let mut model: Vec<Entry> = Vec::new();
    for step in 0..600_u64 {
        match rng.u8(..20) {
            0 => {
                let below = rng.u64(..=model.len() as u64 + 2);
                let before = log.first();
                log.truncate(below);
                assert!(log.first() == before || log.first() <= below);
                let index = log.first() - 1;
                let term = index.checked_sub(1).map_or(0, |at| model[at as usize].term);
                log.set_base(Base { index, term, checksum: 0 });
            }
            1 => log = log.close_and_reopen(),
            2 => log = log.crash_and_reopen(),
            3 | 4 => log.settle(),
            5 => model.push(log.append_in_term(log.tip().term + 1, payload(step, seed, 50))),
            6..9 => {
                let first = log.first();
                let from = rng.u64(first..=log.tip().index + 1);
                let read = log.read(from, rng.usize(..50_000));
                let expected = &model[from as usize - 1..];
                assert_eq!(read, expected[..read.len()]);
                assert!(!read.is_empty() || expected.is_empty());
            }
            _ => {
                let most = [10, 1_000, 30_000][rng.usize(..3)];
                let length = rng.usize(..most);
                model.push(log.append(payload(step, seed, length)));
            }
        }
        assert_eq!(log.tip().index, model.len() as u64);
    }
    let first = log.first();
    assert_eq!(log.read_all(), model[first as usize - 1..]);
}
