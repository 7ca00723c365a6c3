//! How a request is written in the corpus, so that its files can be read and edited as text.
//!
//! ```text
//! POST /ojs/v1/workers/fetch
//! X-OJS-Tenant: acme
//!
//! {"queues": ["default"], "count": 5}
//! ```

use axum::body::Body;
use axum::http::{Method, Request};

/// The request that these bytes describe. `None` for bytes that hyper would have refused: not a
/// method, a target or a header.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Request<Body>> {
    let (head, body) = split_at_blank_line(bytes);
    let mut lines = std::str::from_utf8(head).ok()?.lines();
    let (method, target) = lines.next()?.split_once(' ')?;
    let method = Method::from_bytes(method.as_bytes()).ok()?;
    let mut request = Request::builder().method(method).uri(target);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        request = request.header(name, value.trim());
    }
    request.body(Body::from(body.to_vec())).ok()
}

fn split_at_blank_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.windows(2).position(|pair| pair == b"\n\n") {
        Some(end) => (&bytes[..end], &bytes[end + 2..]),
        None => (bytes, &[]),
    }
}
