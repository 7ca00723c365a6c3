use std::io;
use std::net::SocketAddr;

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The server did something that it must not do, so its speed is of no interest.
    #[error("wrong answer, so nothing was measured: {0}")]
    Wrong(String),
    /// Nobody listens there.
    #[error("no server answers at http://{0}: {1}")]
    Away(SocketAddr, io::Error),
    #[error("{0}")]
    Server(String),
    /// It was over before anything was done.
    #[error("{0}: nothing was done in the time that is measured")]
    TooShort(String),
    /// By whoever follows its progress.
    #[error("it was stopped")]
    Stopped,
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl BenchError {
    pub(crate) fn wrong(what: impl Into<String>) -> Self {
        BenchError::Wrong(what.into())
    }

    /// Says of a wrong answer to what it was one.
    pub(crate) fn answering(self, question: &str) -> Self {
        match self {
            BenchError::Wrong(what) => BenchError::Wrong(format!("{question}: {what}")),
            other => other,
        }
    }
}
