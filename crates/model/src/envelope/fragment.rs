//! Building the immutable part of a job's JSON.

use bytes::Bytes;
use serde_json::value::RawValue;

use super::fields::Fields;
use super::options::Options;
use crate::{JobType, json};

/// Builds comma-separated JSON members without braces. The order is fixed, so equal requests give
/// equal bytes. [`super::write_head`] writes the version and the id.
pub(super) fn build(
    kind: &JobType,
    args: &RawValue,
    meta: &str,
    fields: &Fields<'_>,
    options: &Options<'_>,
) -> Bytes {
    let mut out = Fragment(Vec::with_capacity(256 + args.get().len()));
    out.text("type", kind);
    out.text("queue", &options.queue);
    out.raw("args", args.get());
    out.raw("meta", meta);
    out.raw("priority", &options.priority.to_string());
    out.raw("max_attempts", &options.retry.max_attempts.to_string());
    for name in ["timeout", "visibility_timeout", "retry", "rate_limit", "tags"] {
        out.optional(name, fields.option(name));
    }
    out.optional("schema", fields.schema);
    if let Some(ms) = options.timeout_ms {
        out.raw("timeout_ms", &ms.to_string());
    }
    if let Some(ms) = options.visibility_ms {
        out.raw("visibility_timeout_ms", &ms.to_string());
    }
    if let Some(time) = &options.start_at {
        out.text("scheduled_at", &time.text);
    }
    if let Some(time) = &options.expires {
        out.text("expires_at", &time.text);
    }
    if options.pending {
        out.raw("pending", "true");
    }
    for (key, value) in &fields.unknown {
        out.raw(key, value.get());
    }
    if !fields.unknown_options.is_empty() {
        out.key("options");
        let mut nested = Fragment(Vec::new());
        for (key, value) in &fields.unknown_options {
            nested.raw(key, value.get());
        }
        out.0.push(b'{');
        out.0.extend_from_slice(&nested.0);
        out.0.push(b'}');
    }
    out.0.into()
}

struct Fragment(Vec<u8>);

impl Fragment {
    fn key(&mut self, key: &str) {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        json::write_str(&mut self.0, key);
        self.0.push(b':');
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        json::write_str(&mut self.0, value);
    }

    fn raw(&mut self, key: &str, value: &str) {
        self.key(key);
        self.0.extend_from_slice(value.as_bytes());
    }

    fn optional(&mut self, key: &str, value: Option<&RawValue>) {
        if let Some(value) = value {
            self.raw(key, value.get());
        }
    }
}
