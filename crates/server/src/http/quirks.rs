//! Quirks: what single clients need because of faults of their own, all in one table.
//!
//! A quirk stays within the specification, applies to that client only, and is listed in docs/clients.md.

use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue, Response};

use super::reply::MEDIA_TYPE;

/// A client that gets answers of its own.
#[derive(Debug)]
pub(super) struct Quirk {
    client: &'static str,
    /// The versions that are known to need it.
    versions: &'static str,
    needs: &'static str,
    why: &'static str,
    /// Whether a request comes from this client.
    is_client: fn(&HeaderMap) -> bool,
    /// The content type of JSON answers.
    media_type: HeaderValue,
}

static QUIRKS: [Quirk; 1] = [Quirk {
    client: "Python SDK (`ojs-python-sdk`)",
    versions: "up to 0.4.0",
    needs: "`Content-Type: application/openjobspec+json; alias=\"application/json\"`",
    why: "it asks for `application/openjobspec+json` and reads only what contains `application/json`",
    is_client: |headers| {
        starts_with(headers.get(USER_AGENT), b"python-httpx/")
            && headers.get(ACCEPT) == Some(&MEDIA_TYPE)
    },
    media_type: HeaderValue::from_static(
        "application/openjobspec+json; alias=\"application/json\"",
    ),
}];

/// The quirk of the client that sent these headers, if it has one.
pub(super) fn of(headers: &HeaderMap) -> Option<&'static Quirk> {
    QUIRKS.iter().find(|quirk| (quirk.is_client)(headers))
}

impl Quirk {
    /// Makes an answer one that the client can read.
    pub fn apply(&self, response: &mut Response<Body>) {
        let headers = response.headers_mut();
        if headers.get(CONTENT_TYPE) == Some(&MEDIA_TYPE) {
            let Self { client, versions, needs, why, .. } = self;
            tracing::debug!(client, versions, needs, why, "applying a quirk");
            headers.insert(CONTENT_TYPE, self.media_type.clone());
        }
    }
}

fn starts_with(value: Option<&HeaderValue>, prefix: &[u8]) -> bool {
    value.is_some_and(|value| value.as_bytes().starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quirk_is_documented() {
        let page = include_str!("../../../../docs/clients.md");
        for Quirk { client, versions, needs, why, .. } in &QUIRKS {
            let row = format!("| {client} | {versions} | {needs} | {why} |");
            assert!(page.contains(&row), "docs/clients.md lacks this row:\n{row}");
        }
    }
}
