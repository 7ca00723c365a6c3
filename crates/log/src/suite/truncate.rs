//! Truncating.

use super::Fixture;
use super::driver::{Driver, payload};
use crate::{Base, LogError};

pub fn truncated_records_are_gone_and_the_others_are_not<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    let entries: Vec<_> = (0..100).map(|n| log.append(payload(n, 0, 20_000))).collect();
    log.truncate(1);
    assert_eq!(log.first(), 1);
    for below in [30, 31, 80] {
        log.truncate(below);
        let first = log.first();
        assert!(first <= below, "needed records are gone: the log begins at {first}");
        assert!(first + 50 > below, "hardly anything was given up: the log begins at {first}");
        assert_eq!(log.read_all(), entries[first as usize - 1..]);
        assert!(matches!(
            log.try_read(first - 1, 0),
            Err(LogError::Truncated { from, first: reported }) if from + 1 == first && reported == first
        ));
    }
    let first = log.first();
    log.truncate(10);
    assert_eq!(log.first(), first, "truncating below the first record changes nothing");
    log.set_base(Base { index: first - 1, term: 0, checksum: 0 });
    let mut log = log.crash_and_reopen();
    assert_eq!(log.first(), first);
    assert_eq!(log.read_all(), entries[first as usize - 1..]);
}

pub fn truncating_everything_keeps_the_newest_record<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    let entries: Vec<_> = (0..100).map(|n| log.append(payload(n, 0, 20_000))).collect();
    let tip = log.tip();
    log.truncate(u64::MAX);
    assert_eq!(log.tip(), tip);
    assert!(log.first() > 50 && log.first() <= 100);
    assert_eq!(log.read(100, usize::MAX), entries[99..]);
    log.set_base(Base { index: 100, term: 0, checksum: 0 });
    assert_eq!(log.close_and_reopen().tip(), tip);
}

pub fn a_truncated_log_goes_on<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    let mut entries = Vec::new();
    for n in 0..300_u64 {
        entries.push(log.append(payload(n, 0, 20_000)));
        log.truncate((n + 1).saturating_sub(20));
    }
    let first = log.first();
    assert!(first > 200);
    assert_eq!(log.read_all(), entries[first as usize - 1..]);
    log.set_base(Base { index: 280, term: 0, checksum: 0 });
    let mut log = log.crash_and_reopen();
    assert_eq!(log.read_all(), entries[first as usize - 1..]);
}
