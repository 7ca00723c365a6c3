//! Compares appends to a log with bare writes and syncs of the same sizes, in turn.
//!
//! ```sh
//! cargo run --release -p rota-log --example append_rate -- DIRECTORY [RECORD_BYTES] [SECONDS] [os]
//! ```

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::future::Future;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rota_log::{Durability, Entry, Log, SegmentLog, SegmentOptions};

/// How many calls a turn has.
const TURN: u32 = 20;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("a directory is needed")?);
    let bytes = arguments.next().map_or(Ok(20_000), |bytes| bytes.parse())?;
    let seconds = arguments.next().map_or(Ok(10), |seconds| seconds.parse())?;
    let sync = arguments.next().is_none_or(|durability| durability != "os");
    fs::create_dir_all(&directory)?;
    let (mut bare, mut log) = (Rate::default(), Rate::default());
    let mut write = bare_writes(&directory, bytes, sync)?;
    let mut append = appends(&directory, bytes, sync)?;
    let start = Instant::now();
    // Short turns, so that other load on the machine is the same for both.
    while start.elapsed() < Duration::from_secs(seconds) {
        bare.measure(TURN, &mut write)?;
        log.measure(TURN, &mut append)?;
    }
    println!("bare: {bare}");
    println!("log:  {log}");
    println!("ratio {:.2}", log.per_second() / bare.per_second());
    Ok(())
}

/// Writes records one after the other into a file that is filled with zeros, and syncs each.
fn bare_writes(directory: &Path, bytes: usize, sync: bool) -> Outcome<impl FnMut() -> Outcome<()>> {
    const SIZE: usize = 64 << 20;
    let path = directory.join("bare");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
    for _ in 0..SIZE >> 20 {
        file.write_all(&[0; 1 << 20])?;
    }
    file.sync_all()?;
    let buffer = vec![7; bytes.next_multiple_of(512)];
    let mut offset = 0;
    Ok(move || {
        if offset + buffer.len() > SIZE {
            offset = 0;
        }
        file.write_at(&buffer, offset as u64)?;
        if sync {
            file.sync_data()?;
        }
        offset += buffer.len();
        Ok(())
    })
}

/// Appends records, and truncates as a server does.
fn appends(directory: &Path, bytes: usize, sync: bool) -> Outcome<impl FnMut() -> Outcome<()>> {
    let path = directory.join("log");
    if path.exists() {
        fs::remove_dir_all(&path)?;
    }
    let opened = Instant::now();
    let durability = if sync { Durability::Fsync } else { Durability::Os };
    let options = SegmentOptions { durability, ..SegmentOptions::default() };
    let mut log = SegmentLog::open(&path, options)?;
    let opened_after = opened.elapsed();
    let payload = bytes::Bytes::from(vec![7; bytes]);
    let mut append = move || {
        let index = log.tip().index + 1;
        let entry = Entry { index, term: 0, time: 0, payload: payload.clone() };
        now(log.append(&entry))?;
        if index.is_multiple_of(1_000) {
            now(log.truncate(index))?;
        }
        Ok(())
    };
    append()?;
    println!("opened after {opened_after:?}, first append done after {:?}", opened.elapsed());
    Ok(append)
}

/// How fast something was.
#[derive(Default)]
struct Rate {
    /// The times of single calls.
    times: Vec<Duration>,
}

impl Rate {
    fn measure(&mut self, calls: u32, call: &mut impl FnMut() -> Outcome<()>) -> Outcome<()> {
        for _ in 0..calls {
            let before = Instant::now();
            call()?;
            self.times.push(before.elapsed());
        }
        Ok(())
    }

    fn per_second(&self) -> f64 {
        self.times.len() as f64 / self.times.iter().sum::<Duration>().as_secs_f64()
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut times = self.times.clone();
        times.sort();
        let part = |thousandths: usize| times[(times.len() - 1) * thousandths / 1_000];
        let (half, most, nearly) = (part(500), part(990), part(999));
        write!(f, "{:.0}/s, p50 {half:?}, p99 {most:?}, p99.9 {nearly:?}", self.per_second())
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a log of segments never waits"),
    }
}
