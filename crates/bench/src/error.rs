//! The errors of a measurement.

use std::io;
use std::net::SocketAddr;

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The server gave a wrong response, so its speed does not matter.
    #[error("wrong answer, so nothing was measured: {0}")]
    Wrong(String),
    /// No server listens at this address.
    #[error("no server answers at http://{0}: {1}")]
    Away(SocketAddr, io::Error),
    #[error("{0}")]
    Server(String),
    /// No operation was completed in the measured time.
    #[error("{0}: nothing was done in the time that is measured")]
    TooShort(String),
    /// [`Progress::show`](crate::Progress::show) returned an error.
    #[error("it was stopped")]
    Stopped,
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl BenchError {
    pub(crate) fn wrong(what: impl Into<String>) -> Self {
        BenchError::Wrong(what.into())
    }

    /// Adds the request to the message of a wrong response.
    pub(crate) fn answering(self, question: &str) -> Self {
        match self {
            BenchError::Wrong(what) => BenchError::Wrong(format!("{question}: {what}")),
            other => other,
        }
    }
}
