//! Prometheus metrics.

mod gather;
mod labels;
mod render;
mod text;

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode};
use bytes::Bytes;
use tokio::sync::Mutex;

use super::Access;
use super::error::{ApiError, ApiResult, excerpt};
use super::params::Params;
use labels::Keys;

const MEDIA_TYPE: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
/// Whoever asks again so soon gets the same.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// What is remembered from one scrape to the next. One at a time: two would only cost twice.
pub(super) struct Metrics(Mutex<Memory>);

struct Memory {
    keys: Keys,
    last: Option<(Instant, Bytes)>,
}

impl Metrics {
    pub fn new(most_keys: usize) -> Self {
        Self(Mutex::new(Memory { keys: Keys::new(most_keys), last: None }))
    }
}

pub(super) async fn scrape(app: Access, params: Params) -> ApiResult {
    if let Some(other) = params.get("format").filter(|format| *format != "prometheus") {
        let text = format!("'format' is '{}'; it must be prometheus.", excerpt(other));
        return Err(ApiError::invalid_request(text).detail("field", "format"));
    }
    app.operator(gather::METRICS)?;
    let mut memory = app.metrics.0.lock().await;
    let fresh = memory.last.as_ref().filter(|(at, _)| at.elapsed() < FRESH_FOR);
    let page = match fresh {
        Some((_, page)) => page.clone(),
        None => anew(&app, &mut memory).await?,
    };
    drop(memory);
    let mut response = Response::new(Body::from(page));
    response.headers_mut().insert(CONTENT_TYPE, MEDIA_TYPE);
    Ok(response)
}

async fn anew(app: &Access, memory: &mut Memory) -> Result<Bytes, ApiError> {
    let at = Instant::now();
    let figures = gather::gather(app, &mut memory.keys).await?;
    let size = memory.last.as_ref().map_or(0, |(_, page)| page.len());
    // Some megabytes, where there are many tenants: not on a thread that serves others.
    let page = tokio::task::spawn_blocking(move || render::render(&figures, size)).await;
    let page = Bytes::from(page.map_err(|_| failed())?);
    memory.last = Some((at, page.clone()));
    Ok(page)
}

fn failed() -> ApiError {
    ApiError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "backend_error",
        "The metrics could not be written down.",
    )
}
