//! What the caller has and what the log has must fit together.

use super::Fixture;
use super::driver::{Driver, payload};
use crate::{Base, LogError};

pub fn a_base_beyond_the_tip_is_refused<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    let entries: Vec<_> = (0..5).map(|_| log.append("x")).collect();
    log.close();
    refused(fixture, Base { index: 6, term: 0, checksum: 0 });
    let mut log = Driver::open_at(fixture, Base { index: 5, term: 0, checksum: 0 });
    assert_eq!(log.read_all(), entries);
}

pub fn a_base_before_the_first_record_is_refused<F: Fixture>(fixture: &F) {
    let mut log = Driver::open_at(fixture, Base { index: 10, term: 0, checksum: 0 });
    log.append("x");
    log.close();
    refused(fixture, Base { index: 9, term: 0, checksum: 0 });
    refused(fixture, Base::default());

    let mut log = Driver::open_at(fixture, Base { index: 10, term: 0, checksum: 0 });
    for n in 0..60 {
        log.append(payload(n, 0, 20_000));
    }
    log.truncate(60);
    let first = log.first();
    assert!(first > 12);
    log.close();
    refused(fixture, Base { index: first - 2, term: 0, checksum: 0 });
    Driver::open_at(fixture, Base { index: first - 1, term: 0, checksum: 0 }).close();
}

pub fn a_base_of_another_history_is_refused<F: Fixture>(fixture: &F) {
    let mut log = Driver::open_at(fixture, Base { index: 3, term: 2, checksum: 0 });
    log.append("x");
    log.append_in_term(4, "x");
    log.append("x");
    log.close();
    for (index, term) in [(3, 2), (4, 2), (5, 4), (6, 4)] {
        refused(fixture, Base { index, term: term + 1, checksum: 0 });
        refused(fixture, Base { index, term: term - 1, checksum: 0 });
        Driver::open_at(fixture, Base { index, term, checksum: 0 }).close();
    }
}

fn refused<F: Fixture>(fixture: &F, base: Base) {
    match fixture.open(base) {
        Err(LogError::Range(_)) => {}
        Err(error) => panic!("{base:?} is refused for another reason: {error}"),
        Ok(_) => panic!("{base:?} is accepted"),
    }
}
