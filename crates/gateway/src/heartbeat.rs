//! Workers: registered and heard in all regions that they are served from.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::Response;
use rota_client::Forwarded;
use rota_client::federation::Passed;
use serde_json::Value;

use crate::answer;
use crate::caller::ClientRequest;
use crate::gateway::Service;
use crate::merge;

impl Service {
    /// Passes a request on to all regions that workers are served from, and passes the first success back.
    pub(crate) async fn to_workers(&self, request: &ClientRequest) -> Response<Body> {
        let (regions, answers) = self.ask_worker_regions(request).await;
        let successful = |region: &&String| {
            answers
                .get(*region)
                .is_some_and(|answer| answer.as_ref().is_some_and(Forwarded::is_success))
        };
        let answered = |region: &&String| answers.get(*region).is_some_and(Option::is_some);
        let region = regions.iter().find(successful).or_else(|| regions.iter().find(answered));
        let passed = region.and_then(|region| {
            let answer = answers.get(region).cloned().flatten()?;
            Some(Passed { answer, region: region.clone(), strategy: None })
        });
        match passed {
            Some(passed) => answer::pass_back(passed),
            None => answer::failure(&none_available()),
        }
    }

    /// A job is lost only if no region that workers are served from knows it. While one of them cannot be asked, a job
    /// that the others do not know may still be there.
    pub(crate) async fn heartbeat(&self, request: &ClientRequest) -> Response<Body> {
        let (regions, answers) = self.ask_worker_regions(request).await;
        let all_asked = answers.values().all(Option::is_some);
        let successes: Vec<(&String, Value)> = regions
            .iter()
            .filter_map(|region| {
                let answer = answers.get(region)?.as_ref().filter(|answer| answer.is_success())?;
                Some((region, serde_json::from_slice(&answer.body).ok()?))
            })
            .collect();
        if successes.is_empty() {
            return self.to_workers_answer(&regions, answers);
        }
        let merged = merge::heartbeats(successes.iter().map(|(_, answer)| answer), all_asked);
        answer::json(axum::http::StatusCode::OK, &merged)
    }

    fn to_workers_answer(
        &self,
        regions: &[String],
        answers: BTreeMap<String, Option<Forwarded>>,
    ) -> Response<Body> {
        let first = regions.iter().find_map(|region| {
            let answer = answers.get(region).cloned().flatten()?;
            Some(Passed { answer, region: region.clone(), strategy: None })
        });
        match first {
            Some(passed) => answer::pass_back(passed),
            None => answer::failure(&none_available()),
        }
    }

    async fn ask_worker_regions(
        &self,
        request: &ClientRequest,
    ) -> (Vec<String>, BTreeMap<String, Option<Forwarded>>) {
        let regions = self.fetch_regions();
        let answers = self.client.pass_to_all(&regions, &request.forward()).await;
        (regions, answers)
    }
}

pub(crate) fn none_available() -> rota_client::federation::FederationError {
    rota_client::federation::NoRoute::NoneAvailable.into()
}
