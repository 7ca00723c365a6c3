//! Reading.

use super::Fixture;
use super::driver::{Driver, payload};

pub fn reads_are_bounded_in_bytes<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    let entries: Vec<_> = (0..10).map(|n| log.append(payload(n, 0, 100))).collect();
    assert_eq!(log.read(1, 300), entries[..3]);
    assert_eq!(log.read(4, 399), entries[3..6]);
    assert_eq!(log.read(4, 1_000), entries[3..]);
    assert_eq!(log.read(10, 0), entries[9..], "at least one record is read");
}

pub fn reading_starts_anywhere<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    let mut entries = Vec::new();
    for n in 0..200 {
        entries.push(log.append(payload(n, 0, n as usize * 37 % 6_000)));
        if n % 7 == 0 {
            log.settle();
        }
    }
    for from in (1..=200).rev().chain([100, 101, 150, 3, 200]) {
        assert_eq!(log.read(from, 0), entries[from as usize - 1..from as usize]);
    }
    assert_eq!(log.read(120, usize::MAX), entries[119..]);
    entries.push(log.append("more"));
    assert_eq!(log.read(201, usize::MAX), entries[200..]);
}

pub fn reading_past_the_tip_yields_nothing<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    log.append("one");
    for from in [2, 3, u64::MAX] {
        assert_eq!(log.read(from, usize::MAX), []);
    }
}
