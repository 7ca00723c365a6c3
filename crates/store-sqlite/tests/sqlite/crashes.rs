//! Crashes, simulated by copying the files while the store is open.

use std::fs;

use crate::directory::{Directory, block_on};
use rota_model::{Millis, Seq};
use rota_store::suite::Fixture;
use rota_store::{Batch, Mutation, RowKind, View};

#[test]
fn committed_batches_survive_a_crash() {
    let directory = Directory::new();
    let mut store = directory.open();
    for number in 1..=50 {
        block_on(store.apply(&[batch(number)])).unwrap();
        if number % 10 == 0 {
            let crashed = copy(&directory);
            let mut survivor = crashed.open();
            block_on(survivor.apply(&[batch(number + 1)])).expect("it goes on where it was");
        }
    }
}

/// If the log ends in the middle of a write, recovery ends with the last complete commit.
#[test]
fn a_torn_write_is_dropped() {
    let directory = Directory::new();
    let mut store = directory.open();
    for number in 1..=5 {
        block_on(store.apply(&[batch(number)])).unwrap();
    }
    let crashed = copy(&directory);
    let log = fs::OpenOptions::new().write(true).open(crashed.file("rota.db-wal")).unwrap();
    log.set_len(log.metadata().unwrap().len() - 1000).unwrap();
    block_on(crashed.open().apply(&[batch(5)])).expect("the fifth commit was torn");
}

fn copy(directory: &Directory) -> Directory {
    let copy = Directory::new();
    for name in ["rota.db", "rota.db-wal"] {
        fs::copy(directory.file(name), copy.file(name)).expect("the file is copied");
    }
    copy
}

fn batch(number: u64) -> Batch {
    let setting = Mutation::Put(RowKind::Setting, "number".into(), number.to_string().into());
    Batch { number, now: Millis(1), next_seq: Seq(0), event_count: 0, mutations: vec![setting] }
}
