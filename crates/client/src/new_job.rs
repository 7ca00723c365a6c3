//! Building a job to be enqueued.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::JobRateLimit;

/// A job to enqueue. Fields that are not set have the server's defaults.
///
/// ```
/// # use rota_client::NewJob;
/// let job = NewJob::new("email.send").arg("you@example.com").queue("email").priority(10);
/// assert_eq!(
///     serde_json::to_string(&job).unwrap(),
///     r#"{"type":"email.send","args":["you@example.com"],"queue":"email","priority":10}"#
/// );
/// ```
#[derive(Debug, Clone, Default, Serialize)]
pub struct NewJob {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    args: Vec<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility_timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    retry: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_limit: Option<JobRateLimit>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "is_false")]
    pending: bool,
    /// Members that have no field here.
    #[serde(flatten)]
    others: Map<String, Value>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl NewJob {
    /// A job of this type without arguments, for the default queue.
    pub fn new(kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), ..Self::default() }
    }

    /// Adds one argument.
    pub fn arg(mut self, value: impl Into<Value>) -> Self {
        let raw = to_raw_value(&value.into()).expect("a JSON value is JSON");
        self.args.push(raw);
        self
    }

    /// Replaces all arguments by raw JSON.
    pub fn args(mut self, values: Vec<Box<RawValue>>) -> Self {
        self.args = values;
        self
    }

    /// Sets the id, a UUIDv7. Repeating the request is then safe, and the error `duplicate` means success.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the queue; the default is `default`.
    pub fn queue(mut self, name: impl Into<String>) -> Self {
        self.queue = Some(name.into());
        self
    }

    /// Sets the priority, from -100 to 100; the default is 0.
    pub fn priority(mut self, priority: i64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets the earliest start: RFC 3339, or relative to now, such as `+PT10M`.
    pub fn scheduled_at(mut self, time: impl Into<String>) -> Self {
        self.scheduled_at = Some(time.into());
        self
    }

    /// Sets the latest start, in the same forms.
    pub fn expires_at(mut self, time: impl Into<String>) -> Self {
        self.expires_at = Some(time.into());
        self
    }

    /// Sets the maximum run time of an execution.
    pub fn timeout_ms(mut self, ms: u64) -> Self {
        self.timeout_ms = Some(ms);
        self
    }

    /// Sets the length of the reservation.
    pub fn visibility_timeout_ms(mut self, ms: u64) -> Self {
        self.visibility_timeout_ms = Some(ms);
        self
    }

    /// Maximum number of executions, including the first.
    pub fn max_attempts(self, attempts: u32) -> Self {
        self.retry("max_attempts", attempts)
    }

    /// Sets one member of the retry policy, such as `backoff_strategy`.
    pub fn retry(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.retry.insert(key.into(), value.into());
        self
    }

    /// Sets the job's limit.
    pub fn rate_limit(mut self, limit: JobRateLimit) -> Self {
        self.rate_limit = Some(limit);
        self
    }

    /// Attaches a member to `meta`, which workers see and the server ignores, apart from
    /// `tenant_id`.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// Attaches a tag.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Makes the job wait until it is activated.
    pub fn pending(mut self) -> Self {
        self.pending = true;
        self
    }

    /// Sets any other member of the envelope.
    pub fn other(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.others.insert(key.into(), value.into());
        self
    }
}
