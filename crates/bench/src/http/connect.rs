//! Connecting to a server.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::io::Errno;

use crate::BenchError;

/// How long to wait for a response.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn connect(address: SocketAddr, patience: Duration) -> Result<TcpStream, BenchError> {
    TcpStream::connect_timeout(&address, patience).map_err(|error| match error.kind() {
        // An error of this process, such as too many open files, is not the server's.
        io::ErrorKind::AddrNotAvailable => BenchError::Io(error),
        _ if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => BenchError::Io(error),
        _ => BenchError::Away(address, error),
    })
}
