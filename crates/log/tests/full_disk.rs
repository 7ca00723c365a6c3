//! Full and read-only file systems, on small real ones. Mounting requires root.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use rota_log::{AppendError, Base, Entry, Log, LogError, SegmentLog, SegmentOptions};
use small_disk::SmallDisk;

#[path = "../../cli/tests/support/small_disk.rs"]
mod small_disk;

fn open(disk: &SmallDisk, index: u64) -> Result<SegmentLog, LogError> {
    let options = SegmentOptions {
        segment_bytes: 512 << 10,
        base: Base { index, term: 0, checksum: 0 },
        ..SegmentOptions::default()
    };
    SegmentLog::open(&disk.path().join("log"), options)
}

fn append(log: &mut SegmentLog) -> Result<(), AppendError> {
    let payload = vec![b'x'; 20_000].into();
    let entry = Entry { index: log.tip().index + 1, term: 0, time: 0, payload };
    now(log.append(&entry))
}

/// Appends until the disk is full, and returns the last index.
fn fill(log: &mut SegmentLog) -> u64 {
    loop {
        match append(log) {
            Ok(()) => {}
            Err(AppendError::Full(_)) => return log.tip().index,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_full_disk_is_reported_and_survived() {
    let disk = SmallDisk::mount(2);
    let mut log = open(&disk, 0).expect("the log opens");
    let last = fill(&mut log);
    assert!(last > 50, "something fitted");
    assert!(matches!(append(&mut log), Err(AppendError::Full(_))), "it is still full");
    now(log.settle()).expect("there is space for the mark");
    assert_eq!(now(log.read(1, usize::MAX)).expect("the log is read").len() as u64, last);
    drop(log);

    let mut log = open(&disk, 0).expect("the log opens on a full disk");
    assert_eq!(log.tip().index, last);
    assert_eq!(fill(&mut log), last, "it is still full");
    now(log.truncate(last)).expect("the log is truncated");
    for _ in 0..200 {
        append(&mut log).expect("truncated segments are used again");
        let below = log.tip().index;
        now(log.truncate(below)).expect("the log is truncated");
    }
    now(log.close()).expect("the log closes");
    assert_eq!(open(&disk, last + 200).expect("the log opens").tip().index, last + 200);
}

#[test]
fn a_log_that_cannot_be_written_does_not_open() {
    let disk = SmallDisk::mount(2);
    let mut log = open(&disk, 0).expect("the log opens");
    append(&mut log).expect("there is space");
    now(log.close()).expect("the log closes");
    disk.make_read_only();
    assert!(matches!(open(&disk, 0), Err(LogError::Io(_))));
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a log of segments never waits"),
    }
}
