/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The server did something that it must not do, so its speed is of no interest.
    #[error("wrong answer, so nothing was measured: {0}")]
    Wrong(String),
    #[error("{0}")]
    Server(String),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl BenchError {
    pub(crate) fn wrong(what: impl Into<String>) -> Self {
        BenchError::Wrong(what.into())
    }
}
