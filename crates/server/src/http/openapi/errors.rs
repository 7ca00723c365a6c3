//! Answers to requests that fail, which are the same on all routes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::operation::{Operation, RequestBody};

/// Status, name and meaning.
const ERRORS: [(u16, &str, &str); 15] = [
    (400, "BadRequest", "The request is malformed: body, header, path or query string."),
    (401, "Unauthorized", "The credentials are missing or not valid."),
    (403, "Forbidden", "The credentials lack the scope, or only an operator may do this."),
    (404, "NotFound", "There is no such thing, or it belongs to another tenant."),
    (408, "Timeout", "The body, or the end of the job, took too long."),
    (409, "Conflict", "The thing is in another state, or the name or id is taken."),
    (413, "TooLarge", "The body, a job, a result or an error is too large."),
    (414, "UriTooLong", "The path and the query string are too long."),
    (415, "UnsupportedMediaType", "The body has a content encoding."),
    (422, "Unprocessable", "The request is well-formed but not meaningful, or not supported."),
    (426, "UpgradeRequired", "The request does not ask for a WebSocket."),
    (429, "TooManyRequests", "A limit of the tenant, the queue or the caller is reached."),
    (431, "HeadersTooLarge", "The headers are too large, or too many."),
    (500, "ServerError", "A bug in the server."),
    (503, "Unavailable", "Too many requests are waiting, the disk is full, or the server stops."),
];

/// The statuses of errors that an operation may answer with on a route.
pub(super) fn statuses(operation: &Operation, path: &str, needs_scope: bool) -> BTreeSet<u16> {
    // Any request may name an unsupported version, have headers or a body that are too long or too slow, or
    // meet a server that is busy.
    let mut all = BTreeSet::from([400, 408, 413, 414, 422, 429, 431, 500, 503]);
    if needs_scope {
        all.extend([401, 403]);
    }
    if path.contains('{') {
        all.insert(404);
    }
    if operation.body != RequestBody::None || may_have_body(operation) {
        all.insert(415);
    }
    all.extend(&operation.errors);
    all
}

/// Whether some route has a method whose requests may have a body, even if only an empty object.
fn may_have_body(operation: &Operation) -> bool {
    operation.routes.iter().any(|route| !route.starts_with("GET "))
}

pub(super) fn reference(status: u16) -> Option<Value> {
    let (_, name, _) = ERRORS.into_iter().find(|(known, ..)| *known == status)?;
    Some(json!({"$ref": format!("#/components/responses/{name}")}))
}

/// The answers, as components of the document.
pub(super) fn components() -> Map<String, Value> {
    let text = |about: &str| json!({"description": about, "schema": {"type": "string"}});
    let component = |(status, name, about): (u16, &str, &str)| {
        let mut headers = json!({"X-Request-Id": text("The id of the request.")});
        if matches!(status, 408 | 422 | 429 | 503) {
            headers["Retry-After"] = json!({
                "description": "Seconds to wait; absent if the request can never succeed.",
                "schema": {"type": "integer", "minimum": 0},
            });
        }
        if status == 401 {
            headers["WWW-Authenticate"] = text("How to authenticate.");
        }
        let content =
            json!({super::MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Error"}}});
        (name.to_owned(), json!({"description": about, "headers": headers, "content": content}))
    };
    ERRORS.into_iter().map(component).collect()
}
