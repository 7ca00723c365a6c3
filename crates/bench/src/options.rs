use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::BenchError;

/// What to measure with.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program whose `serve` is measured.
    pub binary: PathBuf,
    /// Where data is put for the time of the measurement: the disk that is measured.
    pub dir: PathBuf,
    /// Measure the server there instead of one that is started for it.
    pub server: Option<SocketAddr>,
    /// `fsync` or `os`.
    pub durability: String,
    pub connections: usize,
    /// How long each measurement takes.
    pub duration: Duration,
    /// Bytes in a job's arguments.
    pub payload: usize,
    /// Jobs in a batch.
    pub batch: usize,
}

impl Options {
    /// Not measured, so that caches and connections are warm.
    pub(crate) fn warm_up(&self) -> Duration {
        (self.duration / 5).min(Duration::from_secs(1))
    }

    /// Batches keep a server busy with fewer connections.
    pub(crate) fn batch_connections(&self) -> usize {
        (self.connections / 8).max(1)
    }
}

/// Told how far a measurement is, a few times a second; an error from it ends the measurement, and
/// with it all that was started for it.
pub trait Progress {
    /// `part` of the whole, from 0 to 1; `rate` in operations per second so far.
    fn show(&self, name: &str, part: f64, rate: f64) -> Result<(), BenchError>;
}
