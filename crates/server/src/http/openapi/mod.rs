//! The OpenAPI document: what each route takes and answers, joined with the table of routes.

mod document;
mod errors;
mod names;
mod notation;
mod operation;
mod params;
mod routes;

use std::sync::OnceLock;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use bytes::Bytes;
use serde_json::Value;

use super::error::{ApiError, ApiResult};
use super::route_table;

/// The media type of JSON in requests and answers.
const MEDIA_TYPE: &str = "application/openjobspec+json";

/// The document, and a tag that changes with it.
struct Served {
    json: Bytes,
    etag: HeaderValue,
}

pub(super) async fn show(headers: HeaderMap) -> ApiResult {
    let document = served().as_ref().map_err(|problem| {
        let text = format!("The document could not be built: {problem}.");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "backend_error", text)
    })?;
    let is_known = headers.get_all(IF_NONE_MATCH).iter().any(|tags| names(tags, &document.etag));
    let mut response = match is_known {
        true => Response::new(Body::empty()),
        false => Response::new(Body::from(document.json.clone())),
    };
    let headers = response.headers_mut();
    headers.insert(ETAG, document.etag.clone());
    match is_known {
        true => *response.status_mut() = StatusCode::NOT_MODIFIED,
        false => drop(headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"))),
    }
    Ok(response)
}

/// Whether a list of tags has this one, or `*`.
fn names(tags: &HeaderValue, etag: &HeaderValue) -> bool {
    let mut tags = tags.to_str().unwrap_or_default().split(',').map(str::trim);
    tags.any(|tag| tag == "*" || tag.trim_start_matches("W/").as_bytes() == etag.as_bytes())
}

/// Built at the first request, and kept.
fn served() -> &'static Result<Served, String> {
    static SERVED: OnceLock<Result<Served, String>> = OnceLock::new();
    SERVED.get_or_init(|| {
        let json = serde_json::to_vec(&document()?).map_err(|error| error.to_string())?;
        let etag = format!("\"{:016x}\"", fnv(&json));
        let etag = HeaderValue::from_str(&etag).map_err(|error| error.to_string())?;
        Ok(Served { json: json.into(), etag })
    })
}

fn document() -> Result<Value, String> {
    let routes: Vec<document::Route> = route_table::routes_with_params()
        .map(|(method, path, needs, params)| document::Route {
            method,
            path,
            scope: needs.map(|permission| permission.name()),
            params,
        })
        .collect();
    document::build(env!("CARGO_PKG_VERSION"), &routes)
}

/// The hash FNV-1a, which is the same on all machines.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests;
