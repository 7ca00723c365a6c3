//! Full and read-only file systems, on small real ones. Mounting requires root.

use crate::directory::block_on;
use bytes::Bytes;
use rota_model::{ClassId, JobId, Live, Millis, Seq};
use rota_store::{ApplyError, Batch, Mutation, NewRow, Reader, View};
use rota_store_sqlite::{CopyError, OpenError, Options, Snapshot, SqliteView, backup, restore};

use crate::small_disk::SmallDisk;

fn options(reserve_bytes: u64) -> Options {
    Options { reserve_bytes }
}

#[test]
fn a_full_disk_is_reported_and_survived() {
    let disk = SmallDisk::mount(12);
    let mut store = SqliteView::open(disk.path(), options(6 << 20)).unwrap();
    assert!(store.has_reserve());
    let mut reader = store.reader().unwrap();

    let last = fill(&mut store);
    assert!(last > 1, "something fitted");
    // A second attempt fails in the same way and changes nothing.
    assert!(matches!(block_on(store.apply(&[batch(last + 1)])), Err(ApplyError::Full(_))));
    assert!(found(&mut reader, last) && !found(&mut reader, last + 1));

    assert!(store.release_reserve());
    assert!(!store.has_reserve() && !store.release_reserve());
    block_on(store.apply(&[purge(last + 1, 1..=last)])).unwrap();
    // New jobs use the pages of the purged ones.
    for number in last + 2..last + 102 {
        block_on(store.apply(&[batch(number)])).unwrap();
        block_on(store.tidy()).unwrap();
    }
    assert!(found(&mut reader, last + 101) && !found(&mut reader, last));
    drop(reader);
    block_on(store.close()).unwrap();
}

/// Without space for a checkpoint, everything stays in the log.
#[test]
fn a_store_on_a_full_disk_can_be_tidied_closed_and_reopened() {
    let disk = SmallDisk::mount(4);
    let mut store = SqliteView::open(disk.path(), options(0)).unwrap();
    let last = fill(&mut store);
    block_on(store.tidy()).unwrap();
    block_on(store.close()).unwrap();
    let mut store = SqliteView::open(disk.path(), options(0)).unwrap();
    assert!(found(&mut store.reader().unwrap(), last));
    assert!(matches!(block_on(store.apply(&[batch(last + 1)])), Err(ApplyError::Full(_))));
}

#[test]
fn a_full_disk_opens_without_its_reserve() {
    let disk = SmallDisk::mount(4);
    let mut store = SqliteView::open(disk.path(), options(64 << 20)).unwrap();
    assert!(!store.has_reserve() && !store.restore_reserve());
    assert!(!disk.path().join("rota.reserve").exists(), "a part of it is of no use");
    block_on(store.apply(&[batch(1)])).unwrap();
    drop(store);
    let store = SqliteView::open(disk.path(), options(64 << 10)).unwrap();
    assert!(store.has_reserve());
    assert!(store.release_reserve() && store.restore_reserve() && store.has_reserve());
}

#[test]
fn a_read_only_directory_is_unusable() {
    let disk = SmallDisk::mount(4);
    drop(SqliteView::open(disk.path(), options(0)).unwrap());
    disk.make_read_only();
    let error = SqliteView::open(disk.path(), options(0)).err().expect("it is refused");
    assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("rota.lock") && message.contains("Read-only"), "{message}");
    let error = SqliteView::open(&disk.path().join("new"), options(0)).err().expect("refused");
    assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
}

/// The server's log cannot restart during a backup, so the backup aborts before the log
/// fills the disk.
#[test]
fn a_backup_aborts_before_the_log_fills_the_disk() {
    let disk = SmallDisk::mount(40);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut store = SqliteView::open(disk.path(), options(1 << 20)).unwrap();
    for number in 1..=300 {
        block_on(store.apply(&[batch(number)])).unwrap();
    }
    block_on(store.tidy()).unwrap();
    let mut number = 300;
    let target = elsewhere.path().join("copy.db");
    let outcome = backup(
        disk.path(),
        &target,
        false,
        || Ok(Snapshot::of_directory(disk.path())?.into()),
        &mut |_| {
            for _ in 0..60 {
                number += 1;
                block_on(store.apply(&[batch(number)])).expect("the server is never refused");
            }
        },
    );
    assert!(matches!(outcome, Err(CopyError::WalGrowing { .. })), "{outcome:?}");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "nothing is left of it");
    block_on(store.apply(&[batch(number + 1)])).unwrap();
}

/// SQLite cannot create files next to a database on read-only media.
#[test]
fn a_file_on_a_read_only_medium_is_restored() {
    let disk = SmallDisk::mount(4);
    let mut store = SqliteView::open(disk.path(), options(0)).unwrap();
    block_on(store.apply(&[batch(1)])).unwrap();
    block_on(store.close()).unwrap();
    disk.make_read_only();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = disk.path().join("rota.db");
    let restored = restore(&file, elsewhere.path(), false, &mut |_| {}).unwrap();
    assert_eq!(restored.copied.commit, 1);
}

#[test]
fn a_full_disk_can_be_backed_up_to_another() {
    let disk = SmallDisk::mount(12);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut store = SqliteView::open(disk.path(), options(0)).unwrap();
    let last = fill(&mut store);
    let target = elsewhere.path().join("copy.db");
    let copied = backup(
        disk.path(),
        &target,
        false,
        || Ok(Snapshot::of_directory(disk.path())?.into()),
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(copied.commit, last);
}

/// Commits until the disk is full. Returns the number of the last committed batch.
fn fill(store: &mut SqliteView) -> u64 {
    for number in 1..10_000 {
        match block_on(store.apply(&[batch(number)])) {
            Ok(_) => {}
            Err(ApplyError::Full(_)) => return number - 1,
            Err(error) => panic!("batch {number}: {error}"),
        }
    }
    panic!("the disk never fills up")
}

fn found(reader: &mut impl Reader, number: u64) -> bool {
    block_on(reader.bodies(&[Seq(number)], usize::MAX)).expect("bodies are read")[0].is_some()
}

fn purge(number: u64, seqs: impl Iterator<Item = u64>) -> Batch {
    let mutations = seqs.map(|seq| Mutation::Delete(Seq(seq))).collect();
    Batch { number, now: Millis(1), next_seq: Seq(number), event_count: 0, mutations }
}

/// A batch with one job of 40 KiB, whose sequence number is the batch's number.
fn batch(number: u64) -> Batch {
    let seq = Seq(number);
    let new = NewRow {
        seq,
        id: JobId::v7(1, u128::from(number)),
        given: true,
        class: ClassId(1),
        created: Millis(1),
        body: Bytes::from(vec![b'x'; 40 << 10]),
    };
    let live = Live::ready(seq, ClassId(1), Millis(1), 40 << 10);
    let mutations = vec![Mutation::Insert(new, live.into())];
    Batch { number, now: Millis(1), next_seq: Seq(number + 1), event_count: 0, mutations }
}
