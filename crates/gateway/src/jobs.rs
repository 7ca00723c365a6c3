//! New jobs and requests about one job.

use axum::body::Body;
use axum::http::Response;
use axum::response::IntoResponse;
use rota_client::federation::FederationError;
use rota_server::http::ApiError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::answer;
use crate::caller::ClientRequest;
use crate::gateway::Service;

#[derive(Deserialize)]
struct Batch<'a> {
    #[serde(borrow)]
    jobs: Vec<&'a RawValue>,
}

impl Service {
    pub(crate) async fn route_job(&self, request: &ClientRequest) -> Response<Body> {
        let Ok(job) = request.text() else { return not_json(&request.body) };
        match self.client.pass_job(job, request.tenant(), &request.headers).await {
            Ok(passed) => answer::pass_back(passed),
            Err(FederationError::Job(_)) if !is_json(&request.body) => not_json(&request.body),
            Err(error) => answer::failure(&error),
        }
    }

    pub(crate) async fn route_batch(&self, request: &ClientRequest) -> Response<Body> {
        let Ok(batch) = serde_json::from_slice::<Batch<'_>>(&request.body) else {
            return not_json(&request.body);
        };
        match self.client.pass_batch(&batch.jobs, request.tenant(), &request.headers).await {
            Ok(passed) => answer::pass_back(passed),
            Err(error) => answer::failure(&error),
        }
    }

    pub(crate) async fn to_job(&self, id: &str, request: &ClientRequest) -> Response<Body> {
        match self.client.pass_to_job(id, request.hint.as_deref(), &request.forward()).await {
            Ok(passed) => answer::pass_back(passed),
            Err(error) => answer::failure(&error),
        }
    }
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(body).is_ok()
}

/// The answer to a body that is not what was expected.
pub(crate) fn not_json(body: &[u8]) -> Response<Body> {
    let error = match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => "it has another shape".to_owned(),
        Err(error) => error.to_string(),
    };
    ApiError::new(
        axum::http::StatusCode::BAD_REQUEST,
        "invalid_payload",
        format!("The body is not the JSON that was expected: {error}."),
    )
    .hint("Send one JSON object.")
    .into_response()
}
