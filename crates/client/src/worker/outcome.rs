//! The outcome of a handler.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// The outcome of a handler.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The job succeeded, optionally with a result.
    Done(Option<Box<RawValue>>),
    /// The job failed. The server decides whether to retry it.
    Failed(Failure),
    /// The job is unfinished, because the handler was told to stop.
    Stopped,
}

/// Why a job failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The error type, which retry policies can match.
    pub kind: String,
    /// A message for people.
    pub message: String,
    /// Whether the job's retry policy applies. If not, the job is discarded at once.
    pub retryable: bool,
    /// Details that are stored with the error.
    pub details: Map<String, Value>,
    /// When the limit of another service ends, which the handler has reached; RFC 3339.
    pub rate_limit_until: Option<String>,
}

impl Outcome {
    /// Success without a result.
    pub fn done() -> Self {
        Self::Done(None)
    }

    /// Success with this result, or a failure if it cannot be serialized to JSON.
    pub fn done_with(result: &impl Serialize) -> Self {
        match to_raw_value(result) {
            Ok(raw) => Self::Done(Some(raw)),
            Err(cause) => Failure::new("bad_result", cause.to_string()).into(),
        }
    }
}

impl Failure {
    /// The limit of another service was reached. Jobs with the same limit do not start before `until`, a time such
    /// as `2026-02-13T12:05:00Z`.
    pub fn rate_limited(message: impl Into<String>, until: impl Into<String>) -> Self {
        let mut failure = Self::new("rate_limited", message);
        failure.rate_limit_until = Some(until.into());
        failure
    }

    /// A failure that may be retried.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            retryable: true,
            details: Map::new(),
            rate_limit_until: None,
        }
    }

    /// Marks the failure as not retryable.
    pub fn no_retry(mut self) -> Self {
        self.retryable = false;
        self
    }

    /// Adds a member to the details.
    pub fn detail(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.details.insert(key.into(), value.into());
        self
    }

    /// The error object of a nack.
    pub(super) fn json(&self) -> Value {
        let mut error =
            json!({"type": self.kind, "message": self.message, "retryable": self.retryable});
        if !self.details.is_empty() {
            error["details"] = Value::Object(self.details.clone());
        }
        if let Some(until) = &self.rate_limit_until {
            error["rate_limit_until"] = until.clone().into();
        }
        error
    }

    /// The failure without details and with a shorter message, for a server that rejects it as too large.
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
