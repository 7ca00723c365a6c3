//! Closing, crashing and opening again.

use super::Fixture;
use super::driver::{Driver, payload};
use crate::Base;

pub fn a_closed_log_reopens_the_same<F: Fixture>(fixture: &F) {
    reopens_the_same(fixture, Driver::close_and_reopen);
}

pub fn a_dropped_log_reopens_the_same<F: Fixture>(fixture: &F) {
    reopens_the_same(fixture, Driver::crash_and_reopen);
}

fn reopens_the_same<'f, F: Fixture>(fixture: &'f F, reopen: fn(Driver<'f, F>) -> Driver<'f, F>) {
    let mut log = Driver::open(fixture);
    let mut entries = Vec::new();
    for n in 0..40 {
        entries.push(log.append(payload(n, 0, n as usize * 997)));
        let (tip, first) = (log.tip(), log.first());
        log = reopen(log);
        assert_eq!((log.tip(), log.first()), (tip, first));
    }
    assert_eq!(log.read_all(), entries);
}

pub fn a_log_without_records_reopens_at_another_base<F: Fixture>(fixture: &F) {
    Driver::open_at(fixture, Base { index: 5, term: 1, checksum: 0 }).close();
    let log = Driver::open_at(fixture, Base { index: 9, term: 2, checksum: 0 });
    assert_eq!((log.tip().index, log.tip().term), (9, 2));
}
