//! The fast path: dispatches the busiest requests without the router.
//!
//! For these requests, routing would cost about as much as everything else. The router has the same
//! routes, to answer other methods on these paths.

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, Response, Uri};
use axum::response::IntoResponse;
use bytes::Bytes;
use rota_identity::Permission;

use super::body::Json;
use super::{Access, jobs, settle, workers};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FastRoute {
    Enqueue,
    EnqueueBatch,
    Fetch,
    Ack,
    Nack,
    Heartbeat,
}

/// The fast route of a request, if it has one.
pub(super) fn route(method: &Method, uri: &Uri) -> Option<FastRoute> {
    // The router checks query parameters, of which these routes have none.
    if method != Method::POST || uri.query().is_some() {
        return None;
    }
    let path = uri.path();
    FastRoute::ALL.into_iter().find(|route| route.path() == path)
}

impl FastRoute {
    pub const ALL: [Self; 6] =
        [Self::Enqueue, Self::EnqueueBatch, Self::Fetch, Self::Ack, Self::Nack, Self::Heartbeat];

    /// The path, which is also the pattern of its route.
    pub fn path(self) -> &'static str {
        match self {
            Self::Enqueue => "/ojs/v1/jobs",
            Self::EnqueueBatch => "/ojs/v1/jobs/batch",
            Self::Fetch => "/ojs/v1/workers/fetch",
            Self::Ack => "/ojs/v1/workers/ack",
            Self::Nack => "/ojs/v1/workers/nack",
            Self::Heartbeat => "/ojs/v1/workers/heartbeat",
        }
    }

    /// The same as in the table of routes.
    pub fn permission(self) -> Permission {
        match self {
            Self::Enqueue | Self::EnqueueBatch => Permission::Enqueue,
            Self::Fetch | Self::Ack | Self::Nack | Self::Heartbeat => Permission::Dequeue,
        }
    }

    pub(super) async fn handle(self, app: Access, head: &Parts, body: Bytes) -> Response<Body> {
        if let Err(error) = app.check(self.permission()) {
            return error.into_response();
        }
        let json = match Json::of(&head.headers, body, &app) {
            Ok(json) => json,
            Err(error) => return error.into_response(),
        };
        let answer = match self {
            FastRoute::Enqueue => jobs::enqueue(app, head.headers.clone(), json).await,
            FastRoute::EnqueueBatch => jobs::enqueue_batch(app, head.headers.clone(), json).await,
            FastRoute::Fetch => workers::fetch(app, json).await,
            FastRoute::Ack => settle::ack(app, json).await,
            FastRoute::Nack => settle::nack(app, json).await,
            FastRoute::Heartbeat => workers::heartbeat(app, json).await,
        };
        answer.into_response()
    }
}
