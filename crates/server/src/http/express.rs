//! The few requests that come by the thousand go past the router, which would cost about as much as
//! all the rest of their way. The router knows them too, for every other method.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{Method, Response};
use axum::response::IntoResponse;
use bytes::Bytes;

use super::body::Json;
use super::{App, jobs, settle, workers};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Enqueue,
    EnqueueBatch,
    Fetch,
    Ack,
    Nack,
    Heartbeat,
}

pub(super) fn lane(head: &Parts) -> Option<Lane> {
    if head.method != Method::POST {
        return None;
    }
    match head.uri.path() {
        "/ojs/v1/jobs" => Some(Lane::Enqueue),
        "/ojs/v1/jobs/batch" => Some(Lane::EnqueueBatch),
        "/ojs/v1/workers/fetch" => Some(Lane::Fetch),
        "/ojs/v1/workers/ack" => Some(Lane::Ack),
        "/ojs/v1/workers/nack" => Some(Lane::Nack),
        "/ojs/v1/workers/heartbeat" => Some(Lane::Heartbeat),
        _ => None,
    }
}

impl Lane {
    pub(super) async fn take(self, app: Arc<App>, head: &Parts, body: Bytes) -> Response<Body> {
        let json = match Json::of(&head.headers, body, &app) {
            Ok(json) => json,
            Err(error) => return error.into_response(),
        };
        let app = State(app);
        let answer = match self {
            Lane::Enqueue => jobs::enqueue(app, head.headers.clone(), json).await,
            Lane::EnqueueBatch => jobs::enqueue_batch(app, head.headers.clone(), json).await,
            Lane::Fetch => workers::fetch(app, json).await,
            Lane::Ack => settle::ack(app, json).await,
            Lane::Nack => settle::nack(app, json).await,
            Lane::Heartbeat => workers::heartbeat(app, json).await,
        };
        answer.into_response()
    }
}
