//! The error type of all HTTP handlers, and its JSON.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use rota_model::{Rejection, RejectionKind};
use serde_json::{Map, Value, json};

use super::{reply, service};
use crate::runtime::{Answer, Unavailable};

/// The most characters of a message and of a detail. They quote what the client sent, which may be
/// megabytes.
const LONGEST_MESSAGE: usize = 800;
const LONGEST_DETAIL: usize = 200;

/// An error answer. Boxed, because nearly every function here returns a `Result` with it.
#[derive(Debug)]
pub struct ApiError(Box<Problem>);

#[derive(Debug)]
struct Problem {
    status: StatusCode,
    code: &'static str,
    /// The member `type`: a broader category than `code`, where the specification's documents differ.
    kind: &'static str,
    message: String,
    retryable: bool,
    hint: Cow<'static, str>,
    details: Map<String, Value>,
    /// Seconds for the header `Retry-After`.
    retry_after: Option<u64>,
    /// Members of the body beside `error`.
    beside: Map<String, Value>,
    /// Further members of `error` itself.
    inside: Map<String, Value>,
    headers: Vec<(&'static str, HeaderValue)>,
}

pub(super) type ApiResult = Result<Response<Body>, ApiError>;

impl ApiError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Problem {
            status,
            code,
            kind: code,
            message: shortened(message.into(), LONGEST_MESSAGE),
            retryable: false,
            hint: Cow::Borrowed("See docs/http.md for the requests that this server takes."),
            details: Map::new(),
            retry_after: None,
            beside: Map::new(),
            inside: Map::new(),
            headers: Vec::new(),
        }))
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    pub fn not_found(what: &'static str, name: &str) -> Self {
        let shown: String = name.chars().take(200).collect();
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("There is no {what} '{shown}'."))
            .hint(not_found_hint(what))
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

    /// The JSON of the body does not fit what the route takes.
    pub fn unfit(error: &serde_json::Error, message: String, path: String) -> Self {
        let unfit = Self::invalid_request(message);
        let unfit = unfit.detail("line", error.line()).detail("column", error.column());
        if path.is_empty() { unfit } else { unfit.detail("field", path) }
    }

    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unsupported", message)
            .hint("See /ojs/manifest for what this server supports.")
    }

    /// A request that was routed without a caller. Without one, nothing is allowed.
    pub fn no_caller() -> Self {
        let text = "The request was routed without a caller.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "backend_error", text)
    }

    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "backend_error", message)
            .hint("Try again after the time in Retry-After.")
            .retry_after(1)
    }

    /// What is damaged is in the log: callers may be tenants.
    pub fn damaged() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "data_damaged",
            "The stored data that this request needs is damaged and cannot be read.",
        )
        .hint("Trying again does not help. The operator can find out what is damaged with `rota doctor`.")
        .detail("reason", "damaged")
    }

    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = hint.into();
        self
    }

    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        let value = match value.into() {
            Value::String(text) => Value::String(shortened(text, LONGEST_DETAIL)),
            other => other,
        };
        self.0.details.insert(key.to_owned(), value);
        self
    }

    pub fn without_detail(mut self, key: &str) -> Self {
        self.0.details.remove(key);
        self
    }

    /// Adds a member to the body, beside `error`.
    pub fn beside(mut self, key: &str, value: Value) -> Self {
        self.0.beside.insert(key.to_owned(), value);
        self
    }

    /// Adds a member to `error` itself.
    pub fn member(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.inside.insert(key.to_owned(), value.into());
        self
    }

    pub fn header(mut self, name: &'static str, value: u64) -> Self {
        self.0.headers.push((name, HeaderValue::from(value)));
        self
    }

    pub fn header_text(mut self, name: &'static str, value: &'static str) -> Self {
        self.0.headers.push((name, HeaderValue::from_static(value)));
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

    pub fn code(&self) -> &'static str {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn advice(&self) -> &str {
        &self.0.hint
    }

    /// The JSON of the answer.
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
                "request_id": service::request_id(),
            }
        });
        if let Value::Object(members) = &mut body {
            if let Some(Value::Object(error)) = members.get_mut("error") {
                error.extend(self.0.inside.clone());
            }
            members.extend(self.0.beside.clone());
        }
        body
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response<Body> {
        if self.0.status.is_server_error() {
            tracing::warn!(status = self.0.status.as_u16(), error = %self.0.message, "rejected");
        } else {
            tracing::debug!(status = self.0.status.as_u16(), error = %self.0.message, "rejected");
        }
        let mut response = reply::json(self.0.status, &self.body());
        for (name, value) in &self.0.headers {
            response.headers_mut().insert(*name, value.clone());
        }
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
        let field = rejection.field.unwrap_or(Cow::Borrowed("body"));
        error = error.detail("field", field.into_owned());
        if let Some(index) = rejection.index {
            error = error.detail("index", index);
        }
        error
    }
}

impl From<Unavailable> for ApiError {
    fn from(why: Unavailable) -> Self {
        let reason = match why {
            Unavailable::Busy => "busy",
            Unavailable::DiskFull => "disk_full",
            Unavailable::NotWritten => "not_written",
            Unavailable::Damaged => "damaged",
            Unavailable::ShuttingDown => "shutting_down",
        };
        let error =
            match why {
                Unavailable::Busy => Self::busy("The server has too many requests waiting."),
                Unavailable::DiskFull => Self::busy(
                    "The server's disk is full: no new jobs are accepted.",
                )
                .hint("Free space on the data directory's disk; fetch, ack and nack still work.")
                .retry_after(5),
                Unavailable::NotWritten => {
                    Self::busy("The change could not be written to disk and did not happen.")
                }
                Unavailable::Damaged => Self::damaged(),
                Unavailable::ShuttingDown => Self::busy("The server is shutting down."),
            };
        error.detail("reason", reason)
    }
}

impl From<crate::runtime::ReadError> for ApiError {
    fn from(error: crate::runtime::ReadError) -> Self {
        if error.is_damage() {
            return Self::damaged();
        }
        Self::busy(format!("The data could not be read: {error}.")).detail("reason", "not_read")
    }
}

/// For answers that are not the one a handler expects: an error, or a bug.
impl From<Answer> for ApiError {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Unavailable(why) => why.into(),
            Answer::Reply(rota_engine::Reply::Refused(refusal)) => refusal.into(),
            Answer::Reply(_) | Answer::Fetched(_) | Answer::Explained(_) => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "backend_error",
                "The server gave an answer that does not fit the request.",
            ),
        }
    }
}

/// Leaves out the middle of a text that is too long. Its end often says what is wrong with the value
/// that is quoted before.
fn shortened(text: String, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text;
    }
    let (head, tail) = (most * 3 / 4, most / 4);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - tail)).collect()
}

/// A value from a request for an error message, cut to 100 characters.
pub(super) fn excerpt(value: &str) -> String {
    value.chars().take(100).collect()
}

/// A hint on why a thing may not exist.
fn not_found_hint(what: &str) -> &'static str {
    match what {
        "job" | "dead letter job" => {
            "Check the id; finished jobs are removed when their retention has passed."
        }
        "queue" => "Check the name; a queue exists from its first job on.",
        "worker" => {
            "Check the name; a worker is known once it has registered, fetched or sent a heartbeat, \
             and forgotten when it leaves or is silent for long."
        }
        "tenant" => {
            "Check the id; a tenant is known from its first job on, or once it is configured."
        }
        "pool" => "Check the name; GET /ojs/v1/admin/pools lists all pools.",
        "rate limit" => {
            "Check the key; a limit is known while jobs use it or an operator has set it. \
             GET /ojs/v1/rate-limits lists all."
        }
        "key" => "Check the id; GET /ojs/v1/admin/keys lists all keys.",
        "cron job" => "Check the name; GET /ojs/v1/cron lists all schedules.",
        _ => "Check the name.",
    }
}
