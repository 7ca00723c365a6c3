//! Requests and responses of fetch and ack.

use memchr::memmem;

use super::{QUEUE, contains, expect};
use crate::BenchError;
use crate::http::Request;

const HEAD: &[u8] = br#"{"specversion":"1.0","id":""#;
const ID: usize = 36;

/// A job's id as text.
pub(super) type Id = [u8; ID];

/// Fetches up to `count` jobs.
pub(super) fn fetch(out: &mut Request<'_>, count: usize, worker: &str, wait_ms: u64) {
    let body = format!(
        r#"{{"queues":["{QUEUE}"],"count":{count},"worker_id":"{worker}","wait_ms":{wait_ms}}}"#
    );
    out.post("/ojs/v1/workers/fetch", body.as_bytes());
}

/// Returns the ids of the fetched jobs; at most `count` were requested.
pub(super) fn ids(status: u16, body: &[u8], count: usize) -> Result<Vec<Id>, BenchError> {
    expect(status, 200, body)?;
    contains(&body[..body.len().min(16)], r#"{"jobs":["#)?;
    let mut ids = Vec::new();
    for head in memmem::find_iter(body, HEAD) {
        let id = body.get(head + HEAD.len()..head + HEAD.len() + ID);
        let id = id.and_then(|id| id.try_into().ok());
        ids.push(id.ok_or_else(|| BenchError::wrong("a job without an id"))?);
    }
    if ids.len() > count {
        return Err(BenchError::wrong(format!("{} jobs instead of {count}", ids.len())));
    }
    // A response that cannot be parsed must not look like an empty queue.
    if ids.is_empty() {
        contains(body, r#"{"jobs":[]}"#)?;
    }
    Ok(ids)
}

/// Acknowledges these jobs.
pub(super) fn ack(out: &mut Request<'_>, ids: &[Id], worker: &str) {
    let mut body = Vec::with_capacity(ids.len() * (ID + 48) + 16);
    if let [id] = ids {
        one(&mut body, id, worker);
    } else {
        body.extend_from_slice(br#"{"jobs":["#);
        for (i, id) in ids.iter().enumerate() {
            if i > 0 {
                body.push(b',');
            }
            one(&mut body, id, worker);
        }
        body.extend_from_slice(b"]}");
    }
    out.post("/ojs/v1/workers/ack", &body);
}

fn one(body: &mut Vec<u8>, id: &Id, worker: &str) {
    body.extend_from_slice(br#"{"job_id":""#);
    body.extend_from_slice(id);
    body.extend_from_slice(br#"","worker_id":""#);
    body.extend_from_slice(worker.as_bytes());
    body.extend_from_slice(br#""}"#);
}

/// Checks that all jobs were acknowledged.
pub(super) fn acked(status: u16, body: &[u8], count: usize) -> Result<(), BenchError> {
    expect(status, 200, body)?;
    if count == 1 {
        return contains(body, r#""acknowledged":true"#);
    }
    contains(body, &format!(r#""succeeded":{count}"#))?;
    contains(body, r#""failed":0"#)
}
