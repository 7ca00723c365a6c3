//! Damage in SQLite's write-ahead log: it is never taken for the end of the log if the database file has more.

use std::fs;

use rota_model::{Millis, Seq};
use rota_store::suite::Fixture;
use rota_store::{Batch, Mutation, RowKind, View};

use crate::directory::{Directory, block_on, connect};

const PAGE: usize = 8192;
const FRAME: usize = 24 + PAGE;
const WAL_HEADER: usize = 32;

/// What a killed server leaves: batches 1 to 6 are in the database file and in the write-ahead log, 7 to 9 only in that.
/// Also the length of the log before each batch.
fn killed() -> (Directory, Vec<usize>) {
    let directory = Directory::new();
    let mut store = directory.open();
    let len = || fs::metadata(directory.file("rota.db-wal")).unwrap().len() as usize;
    let mut lengths = vec![0];
    let reader = connect(&directory.file("rota.db"));
    for number in 1..10 {
        lengths.push(len().max(WAL_HEADER));
        block_on(store.apply(&[batch(number)])).unwrap();
        if number == 6 {
            // Keeps the log from beginning anew.
            reader.execute_batch("BEGIN; SELECT * FROM meta").unwrap();
            reader.query_row("SELECT number FROM meta", [], |_| Ok(())).unwrap();
            let other = connect(&directory.file("rota.db"));
            other.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
        }
    }
    let copy = Directory::new();
    for name in ["rota.db", "rota.db-wal"] {
        fs::copy(directory.file(name), copy.file(name)).unwrap();
    }
    (copy, lengths)
}

/// A setting of its own, so that the pages of each batch differ.
fn batch(number: u64) -> Batch {
    let value = format!("{number:0>3000}");
    let name = format!("setting {number}");
    let setting = Mutation::Put(RowKind::Setting, name.as_str().into(), value.into());
    Batch { number, now: Millis(1), next_seq: Seq(0), event_count: 0, mutations: vec![setting] }
}

fn flip(directory: &Directory, at: usize) {
    let path = directory.file("rota.db-wal");
    let mut bytes = fs::read(&path).unwrap();
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
}

#[test]
fn an_undamaged_log_is_recovered() {
    let (directory, _) = killed();
    assert_eq!(block_on(directory.open().applied()).unwrap(), 9);
}

/// Every frame of the batches that a checkpoint has moved, in its header and its page.
#[test]
fn damage_before_what_a_checkpoint_has_moved_makes_the_view_unusable() {
    let (directory, lengths) = killed();
    let whole = fs::read(directory.file("rota.db-wal")).unwrap();
    let frames = (lengths[7] - lengths[2]) / FRAME;
    assert!(frames > 8, "{frames} frames");
    for frame in 0..frames {
        for offset in [2, 10, 18, 24 + 5, 24 + 5000] {
            fs::write(directory.file("rota.db-wal"), &whole).unwrap();
            flip(&directory, lengths[2] + frame * FRAME + offset);
            let error = directory.try_open().err().expect("it is refused");
            let cause = error.damage().unwrap_or_else(|| panic!("{error}"));
            assert!(cause.contains("write-ahead log is damaged"), "{cause}");
        }
    }
}

#[test]
fn a_damaged_header_of_the_log_makes_the_view_unusable() {
    let (directory, _) = killed();
    let whole = fs::read(directory.file("rota.db-wal")).unwrap();
    for at in 0..WAL_HEADER {
        fs::write(directory.file("rota.db-wal"), &whole).unwrap();
        flip(&directory, at);
        let error = directory.try_open().err().expect("it is refused");
        assert!(error.damage().is_some_and(|cause| cause.contains("header")), "{error}");
    }
}

/// The log has these batches, and applies them again. After a power cut, nothing else can be expected.
#[test]
fn damage_behind_what_a_checkpoint_has_moved_ends_the_log() {
    let (directory, lengths) = killed();
    flip(&directory, lengths[8] + 100);
    let mut store = directory.open();
    assert_eq!(block_on(store.applied()).unwrap(), 7);
    block_on(store.apply(&[batch(8), batch(9)])).unwrap();
    block_on(store.close()).unwrap();
}
