//! The options of the measurements.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::BenchError;

/// The options of all measurements.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `rota` binary to measure.
    pub binary: PathBuf,
    /// Directory for temporary data, on the disk to measure.
    pub dir: PathBuf,
    /// A running server to measure; `None` starts one.
    pub server: Option<SocketAddr>,
    /// `fsync` or `os`.
    pub durability: String,
    pub connections: usize,
    /// Duration of each measurement.
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

    /// Number of connections for batches, of which fewer are enough to keep a server busy.
    pub(crate) fn batch_connections(&self) -> usize {
        (self.connections / 8).max(1)
    }
}

/// Receives the progress of a measurement a few times a second. An error ends the measurement and the
/// processes it has started.
pub trait Progress {
    /// `part` is the completed part from 0 to 1, `rate` the operations per second so far.
    fn show(&self, name: &str, part: f64, rate: f64) -> Result<(), BenchError>;
}
