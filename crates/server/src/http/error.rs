//! The one error type of the HTTP edge, and the one place where refusals become status codes.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use rota_engine::Refusal;
use rota_model::{Rejection, RejectionKind};
use serde_json::{Map, Value, json};

use super::{context, reply};
use crate::runtime::{Answer, Unavailable};

/// Boxed, because it is part of nearly every result here and hardly ever made.
#[derive(Debug)]
pub(super) struct ApiError(Box<Problem>);

#[derive(Debug)]
struct Problem {
    status: StatusCode,
    code: &'static str,
    /// A second, broader word where the specification's documents differ.
    kind: &'static str,
    message: String,
    retryable: bool,
    hint: Cow<'static, str>,
    details: Map<String, Value>,
    retry_after: Option<u64>,
    /// Members beside `error`.
    beside: Map<String, Value>,
}

pub(super) type ApiResult = Result<Response<Body>, ApiError>;

impl ApiError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Problem {
            status,
            code,
            kind: code,
            message: message.into(),
            retryable: false,
            hint: Cow::Borrowed("See docs/http.md for the requests that this server takes."),
            details: Map::new(),
            retry_after: None,
            beside: Map::new(),
        }))
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    pub fn not_found(what: &'static str, name: &str) -> Self {
        let shown: String = name.chars().take(200).collect();
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("There is no {what} '{shown}'."))
            .hint(where_to_look(what))
            .detail("resource_type", what.replace(' ', "_"))
            .detail("resource_id", shown)
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    pub fn validation(field: &str, message: impl Into<String>) -> Self {
        let mut error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message)
            .detail("field", field);
        error.0.kind = "validation_error";
        error
    }

    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unsupported", message)
            .hint("See /ojs/manifest for what this server supports.")
    }

    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "backend_error", message)
            .hint("Try again after the time in Retry-After.")
            .retry_after(1)
    }

    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = hint.into();
        self
    }

    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    pub fn beside(mut self, key: &str, value: Value) -> Self {
        self.0.beside.insert(key.to_owned(), value);
        self
    }

    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retryable = true;
        self.0.retry_after = Some(seconds);
        self
    }

    pub fn kind(mut self, kind: &'static str) -> Self {
        self.0.kind = kind;
        self
    }

    pub fn with_code(mut self, code: &'static str) -> Self {
        self.0.code = code;
        self
    }

    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The whole answer.
    pub fn body(&self) -> Value {
        let url = format!("https://openjobspec.org/errors/{}", self.0.code.to_ascii_uppercase());
        let mut body = json!({
            "error": {
                "code": self.0.code,
                "type": self.0.kind,
                "message": self.0.message,
                "retryable": self.0.retryable,
                "hint": self.0.hint,
                "docs_url": url,
                "doc_url": url,
                "details": self.0.details,
                "request_id": context::request_id(),
            }
        });
        if let Value::Object(members) = &mut body {
            members.extend(self.0.beside.clone());
        }
        body
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response<Body> {
        if self.0.status.is_server_error() {
            tracing::warn!(status = self.0.status.as_u16(), error = %self.0.message, "refused");
        } else {
            tracing::debug!(status = self.0.status.as_u16(), error = %self.0.message, "refused");
        }
        let mut response = reply::json(self.0.status, &self.body());
        if let Some(seconds) = self.0.retry_after {
            response.headers_mut().insert("retry-after", HeaderValue::from(seconds));
        }
        response
    }
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> Self {
        let (status, code) = match rejection.kind {
            RejectionKind::Malformed => (StatusCode::BAD_REQUEST, "invalid_payload"),
            RejectionKind::InvalidField => (StatusCode::BAD_REQUEST, "invalid_request"),
            RejectionKind::Invalid => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_request"),
            RejectionKind::Unsupported => (StatusCode::UNPROCESSABLE_ENTITY, "unsupported"),
            RejectionKind::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "invalid_payload"),
        };
        let mut error = Self::new(status, code, rejection.message);
        if matches!(rejection.kind, RejectionKind::Invalid | RejectionKind::InvalidField) {
            error.0.kind = "validation_error";
        }
        if let Some(hint) = rejection.hint {
            error.0.hint = hint;
        }
        if let Some(field) = rejection.field {
            error = error.detail("field", field.into_owned());
        }
        if let Some(index) = rejection.index {
            error = error.detail("index", index);
        }
        error
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let too_many = |what: &str, limit: usize, setting: &str| {
            Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid_request",
                format!("There are {limit} {what} already, which is the limit."),
            )
            .hint(format!("Reuse or remove one, or raise {setting}."))
            .detail("limit", limit)
        };
        match refusal {
            Refusal::UnknownJob => Self::not_found("job", "?"),
            Refusal::IdTaken { id, index } => {
                Self::conflict(format!("The id '{id}' is taken by another job."))
                    .with_code("duplicate")
                    .kind("conflict")
                    .hint("Leave 'id' out, or choose a fresh UUIDv7.")
                    .detail("existing_job_id", id.to_string())
                    .detail("index", index)
            }
            Refusal::NotActive { state } => {
                Self::conflict(format!("The job is not active; its state is '{state}'."))
                    .hint("Its reservation may have ended, or it was settled already.")
                    .detail("current_state", state.as_str())
                    .detail("expected_state", "active")
            }
            Refusal::NotHolder { worker, attempt } => {
                Self::conflict("The job is held by another worker or attempt.")
                    .hint("This execution was given up; drop its outcome.")
                    .detail("worker_id", worker.map(|id| id.to_string()))
                    .detail("attempt", attempt)
            }
            Refusal::Terminal { state } => {
                Self::conflict(format!("The job has ended; its state is '{state}'."))
                    .hint("Nothing can be done to a job that has ended, except retrying it.")
                    .detail("current_state", state.as_str())
            }
            Refusal::NotPending { state } => Self::conflict(format!(
                "Only pending jobs can be activated; the state of this one is '{state}'."
            ))
            .hint("Enqueue with \"pending\": true to stage a job.")
            .detail("current_state", state.as_str()),
            Refusal::NotRetryable { state } => Self::conflict(format!(
                "Only discarded and cancelled jobs can be retried; the state of this one is '{state}'."
            ))
            .hint("Wait until it has ended.")
            .detail("current_state", state.as_str()),
            Refusal::StillActive => Self::conflict("The job is active and cannot be deleted.")
                .hint("Cancel it first.")
                .detail("current_state", "active"),
            Refusal::UnknownWorker => Self::not_found("worker", "?"),
            Refusal::WorkerNotStale => {
                Self::conflict("The worker is alive: it was heard of within the heartbeat timeout.")
                    .hint("Quiet it instead, or wait until it is stale.")
            }
            Refusal::OtherPool { pool } => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid_request",
                "The worker does not belong to this pool.",
            )
            .hint("Register the worker with the pool, or leave the pool out.")
            .detail("pool", pool),
            Refusal::UnknownQueue => Self::not_found("queue", "?"),
            Refusal::UnknownCron => Self::not_found("cron job", "?"),
            Refusal::TooManyQueues { limit } => too_many("queues", limit, "limits.queues"),
            Refusal::TooManyWorkers { limit } => too_many("workers", limit, "limits.workers"),
            Refusal::TooManyCrons { limit } => too_many("cron jobs", limit, "limits.crons"),
        }
    }
}

impl From<Unavailable> for ApiError {
    fn from(why: Unavailable) -> Self {
        match why {
            Unavailable::Busy => Self::busy("The server has too many requests waiting."),
            Unavailable::DiskFull => {
                Self::busy("The server's disk is full: no new jobs are accepted.")
                    .hint(
                        "Free space on the data directory's disk; fetch, ack and nack still work.",
                    )
                    .retry_after(5)
            }
            Unavailable::NotWritten => {
                Self::busy("The change could not be written to disk and did not happen.")
            }
            Unavailable::ShuttingDown => Self::busy("The server is shutting down."),
        }
    }
}

impl From<crate::runtime::ReadError> for ApiError {
    fn from(error: crate::runtime::ReadError) -> Self {
        Self::busy(format!("The data could not be read: {error}."))
    }
}

/// An answer that can only mean that something is unavailable.
impl From<Answer> for ApiError {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Unavailable(why) => why.into(),
            Answer::Reply(rota_engine::Reply::Refused(refusal)) => refusal.into(),
            Answer::Reply(_) | Answer::Fetched(_) => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "backend_error",
                "The server gave an answer that does not fit the request.",
            ),
        }
    }
}

/// Why something may not be there.
fn where_to_look(what: &str) -> &'static str {
    match what {
        "job" | "dead letter job" => {
            "Check the name; finished jobs are removed when their retention has passed."
        }
        "queue" => "Check the name; a queue is there from its first job on.",
        "worker" => {
            "Check the name; a worker is known once it has registered, fetched or sent a heartbeat, \
             and forgotten when it leaves or is silent for long."
        }
        "cron job" => "Check the name; GET /ojs/v1/cron lists all schedules.",
        _ => "Check the name.",
    }
}
