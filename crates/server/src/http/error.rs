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
    /// Members that a document puts directly into `error`.
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
            message: message.into(),
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

    pub fn without_detail(mut self, key: &str) -> Self {
        self.0.details.remove(key);
        self
    }

    pub fn beside(mut self, key: &str, value: Value) -> Self {
        self.0.beside.insert(key.to_owned(), value);
        self
    }

    /// A member of `error` itself.
    pub fn member(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.inside.insert(key.to_owned(), value.into());
        self
    }

    pub fn header(mut self, name: &'static str, value: u64) -> Self {
        self.0.headers.push((name, HeaderValue::from(value)));
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
            tracing::warn!(status = self.0.status.as_u16(), error = %self.0.message, "refused");
        } else {
            tracing::debug!(status = self.0.status.as_u16(), error = %self.0.message, "refused");
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
                    .detail("worker_id", worker.map(|id| id.local().to_owned()))
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
            Refusal::TooManyLimits { limit } => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid_request",
                format!("There are {limit} rate limits already, which is the limit."),
            )
            .hint("Remove a rate limit that is not needed."),
            Refusal::TooManyPools { limit } => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid_request",
                format!("There are {limit} pools already, which is the limit."),
            )
            .hint("Remove a pool that is not needed."),
            Refusal::TooManyKeys { tenant, limit } => Self::new(
                StatusCode::TOO_MANY_REQUESTS,
                "TENANT_LIMIT_EXCEEDED",
                format!("Tenant '{tenant}' has jobs waiting for {limit} different rate limits, which is the limit."),
            )
            .hint("Use fewer keys, or raise limits.rate_keys_per_tenant: each key is a line of its own.")
            .member("tenant_id", tenant.to_string())
            .member("limit", "rate_keys_per_tenant")
            .member("current", limit)
            .member("maximum", limit)
            .retry_after(60),
            Refusal::UndeclaredKey { key } => Self::validation(
                "rate_limit.scope",
                format!("The key '{key}' is not declared, so its limit cannot be shared by all tenants."),
            )
            .hint("Leave 'scope' out to limit the tenant's own jobs, or let an operator PUT /ojs/v1/rate-limits/{key}."),
            refusal @ (Refusal::TenantLimit { .. } | Refusal::QueueFull { .. }) => full(refusal),
            Refusal::UnknownPool => {
                Self::validation("pool", "There is no such pool.").hint("GET /ojs/v1/admin/pools lists all pools.")
            }
            Refusal::NoQueues => Rejection::field("queues", "must name at least one queue, or the request a pool")
                .hint("Send \"queues\": [\"default\"], or register the worker with a pool.")
                .into(),
            Refusal::NotInPool { pool, queue } => {
                Self::validation("queues", format!("The queue '{queue}' is not among those of the pool '{pool}'."))
                    .hint("Leave 'queues' out to be served from all queues of the pool.")
            }
            Refusal::UnknownTenant => Self::not_found("tenant", "?"),
            Refusal::TenantHasJobs { living } => {
                Self::conflict(format!("The tenant has {living} jobs that have not finished."))
                    .hint("Wait for them, or send ?purge=true with {\"confirm\": true} to remove them.")
                    .detail("live_jobs", living)
            }
            Refusal::NotThrottled => Self::conflict("The tenant is not throttled."),
            Refusal::UnknownLimit => Self::not_found("rate limit", "?"),
        }
    }
}

/// More jobs than a tenant or a queue may have.
fn full(refusal: Refusal) -> ApiError {
    let seconds = |ms: u64| ms.div_ceil(1_000).max(1);
    match refusal {
        Refusal::TenantLimit { tenant, limit, current, maximum, retry_ms } => {
            let status = match retry_ms {
                Some(_) => StatusCode::TOO_MANY_REQUESTS,
                None => StatusCode::UNPROCESSABLE_ENTITY,
            };
            let text = format!("Tenant '{tenant}' has exceeded {limit} ({maximum})");
            let error = ApiError::new(status, "TENANT_LIMIT_EXCEEDED", text)
                .member("tenant_id", tenant.to_string())
                .member("limit", limit)
                .member("current", current)
                .member("maximum", maximum);
            match retry_ms {
                Some(ms) => error
                    .hint("Send the jobs again after the time in Retry-After.")
                    .retry_after(seconds(ms)),
                None => error.hint("The batch is larger than the limit will ever admit: split it."),
            }
        }
        Refusal::QueueFull { queue, tenant, depth, bound, in_bytes, strategy, retry_ms } => {
            let what = if in_bytes { "size bound" } else { "depth bound" };
            let queue = queue.local().to_owned();
            let text = format!("Queue '{queue}' has reached its {what} ({bound})");
            let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "QUEUE_FULL", text)
                .hint("Send the jobs again after the time in Retry-After, or raise the bound.")
                .member("queue", queue)
                .member("depth", depth)
                .member("bound", bound)
                .member("strategy", strategy.as_str())
                .header("x-ojs-queue-depth", depth)
                .header("x-ojs-queue-bound", bound)
                .retry_after(seconds(retry_ms.unwrap_or(60_000)));
            match tenant {
                Some(tenant) => error.member("tenant_id", tenant.to_string()),
                None => error,
            }
        }
        other => other.into(),
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
            Answer::Reply(_) | Answer::Fetched(_) | Answer::Explained(_) => Self::new(
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
        "tenant" => {
            "Check the id; a tenant is known from its first job on, or once it is configured."
        }
        "pool" => "Check the name; GET /ojs/v1/admin/pools lists all pools.",
        "rate limit" => {
            "Check the key; a limit is known while jobs use it or an operator has set it. \
             GET /ojs/v1/rate-limits lists all."
        }
        "cron job" => "Check the name; GET /ojs/v1/cron lists all schedules.",
        _ => "Check the name.",
    }
}
