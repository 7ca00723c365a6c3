//! The suite, on real files.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use rota_log::suite::Fixture;
use rota_log::{Base, LogError, SegmentLog, SegmentOptions};

struct TemporaryDirectory(tempfile::TempDir);

impl TemporaryDirectory {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }
}

impl Fixture for TemporaryDirectory {
    type Log = SegmentLog;

    fn open(&self, base: Base) -> Result<SegmentLog, LogError> {
        let options = SegmentOptions {
            segment_bytes: 256 << 10,
            first_segment_bytes: 64 << 10,
            base,
            ..SegmentOptions::default()
        };
        SegmentLog::open(&self.0.path().join("log"), options)
    }

    fn block_on<T: Future>(&self, future: T) -> T::Output {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("a log of segments never waits"),
        }
    }
}

rota_log::log_tests!(TemporaryDirectory::new());
