//! Appending.

use bytes::Bytes;

use super::Fixture;
use super::driver::{Driver, payload};
use crate::{AppendError, Base, Entry, Tip};

pub fn a_new_log_begins_at_its_base<F: Fixture>(fixture: &F) {
    let mut log = Driver::open_at(fixture, Base { index: 41, term: 3, checksum: 0 });
    assert_eq!(log.tip(), Tip { index: 41, term: 3, checksum: 0 });
    assert_eq!(log.first(), 42);
    assert_eq!(log.read(42, usize::MAX), []);
    let entry = log.append("first");
    assert_eq!((entry.index, entry.term), (42, 3));
    assert_eq!(log.first(), 42);
    assert_eq!(log.read_all(), [entry]);
}

pub fn appended_records_are_read_back<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    let entries: Vec<_> = (0..50).map(|n| log.append(format!("payload {n}"))).collect();
    assert_eq!(log.tip().index, 50);
    assert_eq!(log.first(), 1);
    assert_eq!(log.read_all(), entries);
}

pub fn payloads_of_every_size_are_kept<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    let around = |length: usize| length.saturating_sub(2)..length + 3;
    let mut lengths: Vec<usize> =
        [0, 424, 472, 512, 896, 4_096, 65_536].into_iter().flat_map(around).collect();
    lengths.extend([1_000_000, 3_000_000, 10]);
    let entries: Vec<_> = lengths.iter().map(|&length| log.append(payload(1, 1, length))).collect();
    assert_eq!(log.read_all(), entries);
    let mut log = log.crash_and_reopen();
    assert_eq!(log.read_all(), entries);
}

pub fn extreme_values_are_kept<F: Fixture>(fixture: &F) {
    let base = Base { index: u64::MAX >> 2, term: 0, checksum: 0 };
    let mut log = Driver::open_at(fixture, base);
    let mut entries = Vec::new();
    for (term, time) in [(0, i64::MIN), (1, i64::MAX), (i64::MAX as u64, -1)] {
        let entry = Entry { term, time, ..log.next(Bytes::from_static(&[0; 600])) };
        log.try_append(&entry).expect("the entry is appended");
        entries.push(entry);
    }
    let mut log = log.close_and_reopen();
    assert_eq!(log.read_all(), entries);
}

pub fn an_entry_that_does_not_follow_the_tip_is_refused<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    let first = log.append("one");
    for index in [0, 1, 3, u64::MAX] {
        let entry = Entry { index, ..first.clone() };
        let refused = log.try_append(&entry);
        assert!(matches!(refused, Err(AppendError::Refused(_))), "{index}: {refused:?}");
    }
    let second = log.append("two");
    assert_eq!(log.read_all(), [first, second]);
}

pub fn a_term_may_rise_but_not_fall<F: Fixture>(fixture: &F) {
    let mut log = Driver::open_at(fixture, Base { index: 0, term: 5, checksum: 0 });
    let mut entries = vec![log.append("a"), log.append_in_term(7, "b"), log.append("c")];
    let fallen = Entry { term: 6, ..log.next("d") };
    let refused = log.try_append(&fallen);
    assert!(matches!(refused, Err(AppendError::Refused(_))), "{refused:?}");
    entries.push(log.append_in_term(8, "e"));
    assert_eq!(entries.iter().map(|entry| entry.term).collect::<Vec<_>>(), [5, 7, 7, 8]);
    assert_eq!(log.read_all(), entries);
    let mut log = log.close_and_reopen();
    assert_eq!(log.tip().term, 8);
    assert_eq!(log.read_all(), entries);
}

pub fn settling_changes_no_record<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    log.settle();
    let mut entries = Vec::new();
    for n in 0..20 {
        entries.push(log.append(payload(n, 0, 700)));
        for _ in 0..n % 3 {
            log.settle();
        }
    }
    let tip = log.tip();
    assert_eq!(log.read_all(), entries);
    let mut log = log.crash_and_reopen();
    assert_eq!(log.tip(), tip);
    log.settle();
    entries.push(log.append("after"));
    assert_eq!(log.read_all(), entries);
}

pub fn the_checksum_of_the_tip_depends_on_all_records<F: Fixture>(fixture: &F) {
    let mut log = Driver::open(fixture);
    let mut seen = vec![log.tip().checksum];
    for _ in 0..10 {
        let entry = Entry { time: 5, ..log.next("the same") };
        log.try_append(&entry).expect("the entry is appended");
        let checksum = log.tip().checksum;
        assert!(!seen.contains(&checksum), "two records have the same checksum");
        seen.push(checksum);
    }
    let tip = log.tip();
    assert_eq!(log.close_and_reopen().tip(), tip);
}
