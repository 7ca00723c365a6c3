//! Gives hyper's answers to requests that are not HTTP a body.

use axum::http::StatusCode;

use crate::http::error::ApiError;
use crate::http::service;

/// hyper's own answers have fewer bytes.
const LONGEST_HEAD: usize = 256;

/// The answer with a body, if these bytes end with an answer of hyper to a request that it could not
/// parse. Those are the only ones without the header `ojs-version`. No body of ours ends like a head.
pub(super) fn with_body(bytes: &[u8]) -> Option<Vec<u8>> {
    bytes.strip_suffix(b"\r\n\r\n")?;
    let tail = bytes.len().saturating_sub(LONGEST_HEAD);
    let start = tail + memchr_last(&bytes[tail..], b"HTTP/1.1 4")?;
    let head = std::str::from_utf8(&bytes[start..]).ok()?;
    if head.contains("ojs-version") {
        return None;
    }
    let status = StatusCode::from_bytes(head.as_bytes().get(9..12)?).ok()?;
    let mut answer = bytes[..start].to_vec();
    let mut lines = head.lines();
    answer.extend_from_slice(lines.next()?.as_bytes());
    for line in lines.filter(|line| line.starts_with("date:")) {
        answer.extend_from_slice(b"\r\n");
        answer.extend_from_slice(line.as_bytes());
    }
    write_rest(&mut answer, &error(status)?);
    Some(answer)
}

/// The answer to a client that speaks plain HTTP to a port for TLS.
pub(super) fn tls_expected() -> Vec<u8> {
    let text = "This port speaks TLS, and the request came in plain HTTP.";
    let error = ApiError::new(StatusCode::BAD_REQUEST, "invalid_request", text)
        .hint("Use https:// in the address.")
        .detail("status", StatusCode::BAD_REQUEST.as_u16());
    let mut answer = b"HTTP/1.1 400 Bad Request".to_vec();
    write_rest(&mut answer, &error);
    answer
}

/// Writes the answer from the end of its status line on.
fn write_rest(answer: &mut Vec<u8>, error: &ApiError) {
    let (id, body) = service::error_outside_of_requests(error);
    let length = body.len();
    let rest = format!(
        "\r\nconnection: close\r\ncontent-type: application/openjobspec+json\r\n\
         content-length: {length}\r\nojs-version: 1.0\r\nx-request-id: {id}\r\n\r\n{body}"
    );
    answer.extend_from_slice(rest.as_bytes());
}

fn memchr_last(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|window| window == wanted)
}

/// What hyper's statuses mean.
fn error(status: StatusCode) -> Option<ApiError> {
    let (text, hint) = match status {
        StatusCode::BAD_REQUEST => (
            "The request is not valid HTTP/1.1.",
            "Check the request line, the names and values of the headers, and Content-Length or \
             Transfer-Encoding.",
        ),
        StatusCode::URI_TOO_LONG => {
            ("The path and the query are too long.", "Send fewer or shorter parameters.")
        }
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => (
            "The request has too many headers, or they are too long.",
            "Send at most 100 headers with fewer than 400 KiB in total.",
        ),
        _ => return None,
    };
    Some(
        ApiError::new(status, "invalid_request", text).hint(hint).detail("status", status.as_u16()),
    )
}
