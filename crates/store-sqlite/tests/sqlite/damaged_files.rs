//! Damaged files cause clear errors, are not changed, and never cause a panic.

use std::fs;

use crate::directory::{Directory, block_on, connect};
use bytes::Bytes;
use rota_model::{Class, ClassId, JobId, Live, Millis, Seq, TenantId};
use rota_store::suite::Fixture;
use rota_store::{
    ApplyError, Batch, Counts, HistoryRow, Loaded, Mutation, NewRow, RowKind, Sink, View,
};
use rota_store_sqlite::OpenError;

#[test]
fn a_file_that_is_no_database_is_not_changed() {
    for garbage in [&b"not a database at all, but long enough to have a header "[..], b"short"] {
        let directory = Directory::new();
        let file = directory.file("rota.db");
        let content = garbage.repeat(if garbage.len() > 10 { 200 } else { 1 });
        fs::write(&file, &content).unwrap();
        let error = refused(&directory);
        assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("rota.db"), "{error}");
        assert_eq!(fs::read(&file).unwrap(), content);
        assert_eq!(directory.listing(), ["rota.db", "rota.lock"]);
    }
}

#[test]
fn a_database_of_another_program_is_not_changed() {
    let directory = Directory::new();
    let file = directory.file("rota.db");
    let conn = connect(&file);
    conn.execute_batch("CREATE TABLE jobs (anything); PRAGMA user_version = 1").unwrap();
    drop(conn);
    let before = fs::read(&file).unwrap();
    let error = refused(&directory);
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("another program"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_missing_table_is_found_when_opening() {
    let directory = Directory::new();
    block_on(directory.open().close()).unwrap();
    let conn = connect(&directory.file("rota.db"));
    conn.execute_batch("DROP TABLE live").unwrap();
    drop(conn);
    let error = refused(&directory);
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("live"), "{error}");
}

#[test]
fn a_truncated_file_is_an_error_and_no_panic() {
    let directory = filled();
    let file = directory.file("rota.db");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let message = use_it(&directory).expect_err("half a file cannot be used");
    assert!(message.contains("damaged") || message.contains("rota.db"), "{message}");
}

/// Damage anywhere in the file is reported as an error, or has no effect.
#[test]
fn flipped_bytes_are_an_error_or_harmless() {
    let directory = filled();
    let file = directory.file("rota.db");
    let whole = fs::read(&file).unwrap();
    let mut errors = Vec::new();
    for page in 0..whole.len() / 8192 {
        let mut damaged = whole.clone();
        let start = page * 8192;
        // The page's header and cell pointers, and a part of its middle.
        for offset in (start..start + 64).chain(start + 4000..start + 4100) {
            damaged[offset] ^= 0xa5;
        }
        fs::write(&file, &damaged).unwrap();
        errors.extend(use_it(&directory).err());
        for log in ["rota.db-wal", "rota.db-shm"] {
            let _ = fs::remove_file(directory.file(log));
        }
    }
    assert!(!errors.is_empty(), "damage in every page must be met somewhere");
    let unclear: Vec<_> = errors
        .iter()
        .filter(|error| !error.contains("damaged") && !error.contains("cannot be read as"))
        .collect();
    assert!(unclear.is_empty(), "{unclear:#?}");
}

fn refused(directory: &Directory) -> OpenError {
    directory.try_open().err().expect("it is refused")
}

/// A closed store with a few hundred jobs.
fn filled() -> Directory {
    let directory = Directory::new();
    let mut store = directory.open();
    let mutations = (0..400).map(insert).collect();
    block_on(store.apply(&[batch(1, mutations)])).expect("the batch commits");
    block_on(store.close()).expect("the store closes");
    directory
}

/// Opens, loads, reads and writes. Returns the first error.
fn use_it(directory: &Directory) -> Result<(), String> {
    let mut store = directory.try_open().map_err(|error| error.to_string())?;
    let loaded: Loaded = block_on(store.load(&mut Ignore)).map_err(|error| error.to_string())?;
    let mut reader = store.reader().map_err(|error| error.to_string())?;
    let seqs: Vec<_> = (0..400).map(Seq).collect();
    block_on(rota_store::Reader::records(&mut reader, &seqs, usize::MAX))
        .map_err(|error| error.to_string())?;
    let mutations = (0..400)
        .step_by(7)
        .map(|seq| Mutation::Delete(Seq(seq)))
        .chain((400..500).map(insert))
        .collect();
    match block_on(store.apply(&[batch(loaded.number + 1, mutations)])) {
        Ok(_) => Ok(()),
        // A row that has become invisible counts as found damage, too.
        Err(ApplyError::Fatal(message)) if message.contains("not where it should be") => {
            Err(format!("damaged: {message}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

fn batch(number: u64, mutations: Vec<Mutation>) -> Batch {
    Batch { number, now: Millis(1), next_seq: Seq(1000), event_count: 0, mutations }
}

fn insert(seq: u64) -> Mutation {
    let new = NewRow {
        seq: Seq(seq),
        id: JobId::v7(seq as i64, u128::from(seq)),
        given: true,
        class: ClassId(1),
        created: Millis(seq as i64),
        body: Bytes::from(vec![b'x'; 200]),
    };
    let live = Live::ready(Seq(seq), ClassId(1), Millis(seq as i64), 200);
    Mutation::Insert(new, live.into())
}

struct Ignore;

impl Sink for Ignore {
    fn stored(&mut self, _: TenantId, _: u64) {}
    fn class(&mut self, _: ClassId, _: Class, _: Counts) {}
    fn named(&mut self, _: RowKind, _: std::sync::Arc<str>, _: Bytes) {}
    fn live(&mut self, _: Live) {}
    fn history(&mut self, _: HistoryRow) {}
    fn journal(&mut self, _: u64, _: Bytes) {}
}
