//! Reports of workers, each to its job's region.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::answer;
use crate::caller::ClientRequest;
use crate::gateway::Service;
use crate::jobs::not_json;

impl Service {
    pub(crate) async fn settle(&self, request: &ClientRequest) -> Response<Body> {
        let mut body: Map<String, Value> = match serde_json::from_slice(&request.body) {
            Ok(body) => body,
            Err(error) => return not_json(&error),
        };
        if let Some(Value::Array(reports)) = body.remove("jobs") {
            return self.settle_many(request, reports).await;
        }
        match body.get("job_id").and_then(Value::as_str) {
            Some(id) => self.to_job(id, request).await,
            // The region says what is missing.
            None => match self.client.pass_to(&self.home_region(), &request.forward()).await {
                Ok(passed) => answer::pass_back(passed),
                Err(error) => answer::failure(&error),
            },
        }
    }

    /// Each report on its own, so that each gets the answer of its job's region.
    async fn settle_many(&self, request: &ClientRequest, reports: Vec<Value>) -> Response<Body> {
        let mut results = Vec::with_capacity(reports.len());
        for report in reports {
            let id = report.get("job_id").and_then(Value::as_str).unwrap_or_default().to_owned();
            let forward = request.with(request.path.clone(), report.to_string().into());
            let result = match self.client.pass_to_job(&id, &forward).await {
                Ok(passed) => {
                    let body: Value =
                        serde_json::from_slice(&passed.answer.body).unwrap_or_default();
                    match (passed.answer.is_success(), body.get("error")) {
                        (false, Some(error)) => {
                            json!({"status": passed.answer.status, "error": error})
                        }
                        _ => body,
                    }
                }
                Err(error) => json!({
                    "status": 503,
                    "error": {
                        "code": "region_unavailable", "message": error.to_string(),
                        "hint": error.hint(), "retryable": true,
                    },
                }),
            };
            results.push(result);
        }
        answer::json(StatusCode::OK, &json!({"results": results}))
    }
}
