//! Reads the trace id of a job from its envelope.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Longer ids are no trace ids; W3C's have 32 characters.
const MAX_BYTES: usize = 256;

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta {
    trace_id: Option<serde_json::Value>,
    traceparent: Option<serde_json::Value>,
}

/// `meta.trace_id`, or the trace's id in `meta.traceparent` (`version-trace-parent-flags`). `body` is the
/// members of a job's object, without braces.
pub(super) fn trace_of(body: &[u8]) -> Option<Arc<str>> {
    // Few jobs have one, and a job may be long.
    memchr::memmem::find(body, b"\"trace")?;
    let text = format!("{{{}}}", std::str::from_utf8(body).ok()?);
    let meta = serde_json::from_str::<Envelope<'_>>(&text).ok()?.meta?;
    let meta: Meta = serde_json::from_str(meta.get()).ok()?;
    let of_parent = || {
        let parent = meta.traceparent.as_ref()?.as_str()?;
        let trace = parent.split('-').nth(1)?;
        let is_hex = trace.bytes().all(|byte| byte.is_ascii_hexdigit());
        (trace.len() == 32 && is_hex).then_some(trace)
    };
    let own = meta.trace_id.as_ref().and_then(|id| id.as_str()).filter(|id| !id.is_empty());
    own.or_else(of_parent).filter(|id| id.len() <= MAX_BYTES).map(Arc::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_member_of_meta_tells_the_trace() {
        const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
        let parent = format!(r#""traceparent":"00-{ID}-00f067aa0ba902b7-01""#);
        for (body, expected) in [
            (format!(r#""meta":{{"trace_id":"{ID}"}}"#), Some(ID)),
            (format!(r#""type":"a.b","meta":{{{parent}}}"#), Some(ID)),
            (format!(r#""meta":{{{parent},"trace_id":"mine"}}"#), Some("mine")),
            (format!(r#""meta":{{{parent},"trace_id":7}}"#), Some(ID)),
            (r#""meta":{"traceparent":"00-short-x-01"}"#.to_owned(), None),
            (format!(r#""meta":{{"trace_id":"{}"}}"#, "x".repeat(257)), None),
            (r#""args":["trace_id"],"meta":{}"#.to_owned(), None),
            (r#""trace_id":"not in meta""#.to_owned(), None),
            (r#""meta":null,"args":[{"trace_id":"x"}]"#.to_owned(), None),
        ] {
            assert_eq!(trace_of(body.as_bytes()).as_deref(), expected, "{body}");
        }
    }
}
