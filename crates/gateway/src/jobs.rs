//! New jobs and requests about one job.

use axum::body::Body;
use axum::http::Response;
use axum::response::IntoResponse;
use rota_server::http::ApiError;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer;
use crate::caller::ClientRequest;
use crate::gateway::Service;

#[derive(Deserialize)]
struct Batch {
    jobs: Vec<Box<RawValue>>,
}

impl Service {
    pub(crate) async fn route_job(&self, request: &ClientRequest) -> Response<Body> {
        let job: Box<RawValue> = match serde_json::from_slice(&request.body) {
            Ok(job) => job,
            Err(error) => return not_json(&error),
        };
        match self.client.pass_job(&job, request.tenant(), &request.headers).await {
            Ok(passed) => answer::pass_back(passed),
            Err(error) => answer::failure(&error),
        }
    }

    pub(crate) async fn route_batch(&self, request: &ClientRequest) -> Response<Body> {
        let batch: Batch = match serde_json::from_slice(&request.body) {
            Ok(batch) => batch,
            Err(error) => return not_json(&error),
        };
        match self.client.pass_batch(&batch.jobs, request.tenant(), &request.headers).await {
            Ok(passed) => answer::pass_back(passed),
            Err(error) => answer::failure(&error),
        }
    }

    pub(crate) async fn to_job(&self, id: &str, request: &ClientRequest) -> Response<Body> {
        match self.client.pass_to_job(id, &request.forward()).await {
            Ok(passed) => answer::pass_back(passed),
            Err(error) => answer::failure(&error),
        }
    }
}

pub(crate) fn not_json(error: &serde_json::Error) -> Response<Body> {
    ApiError::new(
        axum::http::StatusCode::BAD_REQUEST,
        "invalid_payload",
        format!("The body is not the JSON that was expected: {error}."),
    )
    .hint("Send one JSON object.")
    .into_response()
}
