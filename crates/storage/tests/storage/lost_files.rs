//! A log without its database, or a database without its log, is never taken for a new server.

use std::fs;

use rota_model::Durability;
use rota_storage::{OpenError, Options, open};

use crate::directory::{Directory, close, commit, traces};

fn remove_segments(directory: &Directory) {
    directory
        .segments()
        .iter()
        .for_each(|name| fs::remove_file(directory.log().join(name)).unwrap());
}

#[test]
fn a_missing_database_is_reported() {
    let directory = Directory::new();
    directory.commit_and_close(1..=3);
    fs::remove_file(directory.file("rota.db")).unwrap();
    let error = directory.try_open().err().unwrap();
    assert!(matches!(error, OpenError::MissingDatabase { .. }), "{error}");
    assert!(!directory.file("rota.db").exists(), "none is made");
}

#[test]
fn a_missing_log_is_reported() {
    let directory = Directory::new();
    directory.commit_and_close(1..=3);
    remove_segments(&directory);
    let error = directory.try_open().err().unwrap();
    assert!(matches!(error, OpenError::Log { .. }), "{error}");
    assert!(error.to_string().contains("belong together"), "{error}");
}

#[test]
fn a_server_that_never_committed_anything_starts_again() {
    let directory = Directory::new();
    close(directory.open());
    assert!(directory.segments().is_empty());
    directory.commit_and_close(1..=1);
    assert_eq!(traces(&directory), 1);
}

#[test]
fn an_older_log_than_the_database_is_reported() {
    let directory = Directory::new();
    directory.commit_and_close(1..=3);
    let old: Vec<_> = directory
        .segments()
        .into_iter()
        .map(|name| (name.clone(), fs::read(directory.log().join(name)).unwrap()))
        .collect();
    directory.commit_and_close(4..=9);
    remove_segments(&directory);
    old.iter().for_each(|(name, bytes)| fs::write(directory.log().join(name), bytes).unwrap());
    let error = directory.try_open().err().unwrap();
    assert!(error.to_string().contains("ends at record 3"), "{error}");
    assert_eq!(directory.applied(), 9, "nothing was changed");
}

/// Without syncs nothing better was promised, and the database has more than the log.
#[test]
fn without_syncs_a_log_that_lost_its_end_is_begun_anew() {
    let directory = Directory::new();
    directory.commit_and_close(1..=3);
    let old = directory.segments();
    directory.commit_and_close(4..=9);
    let bytes = fs::read(directory.log().join(&old[0])).unwrap();
    // The tail that the system had not written.
    let kept = bytes.len() / 512
        - bytes.chunks(512).rev().take_while(|block| block.iter().all(|b| *b == 0)).count();
    let mut torn = bytes.clone();
    torn[(kept - 4) * 512..].fill(0);
    fs::write(directory.log().join(&old[0]), torn).unwrap();
    assert!(directory.try_open().is_err(), "with syncs, that is damage");
    let options = Options { durability: Durability::Os, reserve_bytes: 0, archive: None };
    let mut storage = open(directory.path(), &options, &mut |_| ()).unwrap();
    commit(&mut storage, 10..=11, 11);
    close(storage);
    assert_eq!(traces(&directory), 11);
}
