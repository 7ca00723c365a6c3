//! Schedules, which are in the home region.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use rota_client::federation::{FederationError, meta};
use rota_server::http::ApiError;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer;
use crate::caller::ClientRequest;
use crate::gateway::Service;

#[derive(Deserialize)]
struct Schedule<'a> {
    #[serde(borrow, default)]
    job_template: Option<&'a RawValue>,
}

impl Service {
    /// Jobs of a schedule run in the region that has the schedule, so one whose jobs must run elsewhere is refused.
    pub(crate) async fn schedule(&self, request: &ClientRequest) -> Response<Body> {
        let home = self.home_region();
        let Ok(text) = request.text() else { return self.to_home(request).await };
        let template = serde_json::from_str::<Schedule<'_>>(text).ok();
        let job = template.and_then(|of| of.job_template).map_or(text, RawValue::get);
        match self.client.pin_of(job, request.tenant()) {
            Ok(Some(region)) if region != home => return elsewhere(&region, &home),
            Err(error @ FederationError::Wish(_)) => return answer::failure(&error),
            // What is wrong otherwise, the region says.
            Ok(_) | Err(_) => {}
        }
        if names_origin(job) {
            let text = format!("meta.{} is set by replication only.", meta::REPLICATED_FROM);
            return ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", text)
                .hint("Leave it out.")
                .into_response();
        }
        self.to_home(request).await
    }
}

fn names_origin(job: &str) -> bool {
    #[derive(Deserialize)]
    struct Job {
        #[serde(default)]
        meta: Option<serde_json::Map<String, serde_json::Value>>,
    }
    let meta = serde_json::from_str::<Job>(job).ok().and_then(|job| job.meta);
    meta.is_some_and(|members| members.contains_key(meta::REPLICATED_FROM))
}

fn elsewhere(region: &str, home: &str) -> Response<Body> {
    let text = format!(
        "The jobs of this schedule must run in region '{region}', and schedules are in region '{home}'."
    );
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", text)
        .detail("region", region)
        .hint("Register the schedule in that region itself.")
        .into_response()
}
