use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// What came of running a job.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It is done, perhaps with a result.
    Done(Option<Box<RawValue>>),
    /// It failed; whether it is retried is up to the server.
    Failed(Failure),
    /// It is not done, because the handler was told to stop.
    Stopped,
}

/// Why a job failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Retry policies name failures by this.
    pub kind: String,
    /// What went wrong, for people.
    pub message: String,
    /// Whether the job's retry policy decides; otherwise the job is given up at once.
    pub retryable: bool,
    /// More for whoever looks at the job, stored with the error.
    pub details: Map<String, Value>,
}

impl Outcome {
    /// Done, without a result.
    pub fn done() -> Self {
        Self::Done(None)
    }

    /// Done, with this result; failed if it cannot be said in JSON.
    pub fn done_with(result: &impl Serialize) -> Self {
        match to_raw_value(result) {
            Ok(raw) => Self::Done(Some(raw)),
            Err(cause) => Failure::new("bad_result", cause.to_string()).into(),
        }
    }
}

impl Failure {
    /// A failure that may be retried.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), retryable: true, details: Map::new() }
    }

    /// Another attempt would fail the same way.
    pub fn no_retry(mut self) -> Self {
        self.retryable = false;
        self
    }

    /// Adds something to the details.
    pub fn detail(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.insert(key.into(), value.into());
        self
    }

    /// As servers take it.
    pub(super) fn json(&self) -> Value {
        let mut error =
            json!({"type": self.kind, "message": self.message, "retryable": self.retryable});
        if !self.details.is_empty() {
            error["details"] = Value::Object(self.details.clone());
        }
        error
    }

    /// The same for a server that finds it too large.
    pub(super) fn shortened(&self) -> Self {
        const LONGEST: usize = 200;
        Self {
            message: self.message.chars().take(LONGEST).collect(),
            details: Map::new(),
            ..self.clone()
        }
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
