//! Health and readiness, and the answers to unknown paths and methods.

use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use rota_identity::Permission;
use rota_model::State as JobState;
use serde_json::json;

use super::error::{ApiError, ApiResult};
use super::{Access, reply, unserved};
use crate::runtime::Unavailable;

/// How long the engine may take to answer before it counts as unresponsive.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) async fn health(app: Access) -> ApiResult {
    let started = std::time::Instant::now();
    // Goes through the engine: an engine that does not answer is not healthy.
    // A tenant sees its own jobs only, and not how many workers there are; nobody in particular sees neither.
    let may_inspect = app.check(Permission::Inspect).is_ok();
    let look = app.look(move |view| match view.operator() {
        _ if !may_inspect => (None, None),
        None => (Some(view.totals().of(JobState::Active)), None),
        Some(engine) => {
            (Some(engine.active_count() as u64), Some(engine.worker_counts(None).all()))
        }
    });
    let counts = tokio::time::timeout(ENGINE_TIMEOUT, look).await.unwrap_or(Err(Unavailable::Busy));
    let latency_ms = started.elapsed().as_millis() as u64;
    let disk_full = app.health.is_disk_full();
    let (status, word, backend) = match (&counts, disk_full) {
        (Ok(_), false) => (StatusCode::OK, "ok", "ok"),
        (Ok(_), true) => (StatusCode::SERVICE_UNAVAILABLE, "degraded", "full"),
        (Err(_), _) => (StatusCode::SERVICE_UNAVAILABLE, "degraded", "unresponsive"),
    };
    let (active, workers) = counts.unwrap_or_default();
    let mut body = json!({
            "status": word,
            "version": "1.0",
            "server_version": env!("CARGO_PKG_VERSION"),
            "uptime_seconds": app.clock().uptime().as_secs(),
            "clock": {"ahead_ms": app.clock().now().ahead_ms},
            "active_jobs": active,
            "workers": workers,
            "backend": {"type": "sqlite", "status": backend, "latency_ms": latency_ms},
    });
    if let Some(archive) = app.archive_status() {
        let word = if archive.failure.is_some() { "failing" } else { "ok" };
        body["archive"] = json!({"status": word});
        if may_inspect {
            body["archive"]["records_behind"] = archive.behind().into();
        }
    }
    Ok(reply::json(status, &body))
}

pub(super) async fn ready(app: Access) -> ApiResult {
    let look = app.look(|_| ());
    tokio::time::timeout(ENGINE_TIMEOUT, look).await.unwrap_or(Err(Unavailable::Busy))?;
    Ok(reply::ok(&json!({"status": "ready", "ready": true})))
}

pub(super) async fn not_found(request: Request) -> ApiError {
    unserved::error(request.method(), request.uri()).unwrap_or_else(|| {
        ApiError::not_found("path", request.uri().path())
            .hint("All endpoints are under /ojs/v1; see /ojs/manifest.")
    })
}

pub(super) async fn method_not_allowed(request: Request) -> ApiError {
    unserved::error(request.method(), request.uri()).unwrap_or_else(|| {
        ApiError::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "invalid_request",
            format!("{} is not supported by {}.", request.method(), request.uri().path()),
        )
        .hint("The header Allow lists the methods that it supports.")
        .detail("method", request.method().as_str())
    })
}
