//! Lists and figures of all regions.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use rota_client::Forwarded;
use rota_client::federation::Passed;
use rota_server::http::ApiError;
use serde_json::{Value, json};

use crate::answer;
use crate::caller::ClientRequest;
use crate::gateway::Service;
use crate::heartbeat::none_available;
use crate::merge::{self, Cursors};

/// What `/ojs/federation/stats` asks regions for.
const STATS: &str = "/ojs/v1/admin/stats";

impl Service {
    /// One page of each region's list, put together. The cursor has the cursors of all regions.
    pub(crate) async fn list(&self, request: &ClientRequest) -> Response<Body> {
        let query = match merge::PageQuery::parse(request.query.as_deref().unwrap_or_default()) {
            Ok(query) => query,
            Err(problem) => {
                return ApiError::invalid_request(problem)
                    .hint("Follow 'next_cursor' in 'pagination'.")
                    .into_response();
            }
        };
        let mut lists = BTreeMap::new();
        let mut unknown = Vec::new();
        for (region, cursor) in query.regions(&self.client.region_ids()) {
            let path = query.path(&request.path, cursor.as_deref());
            let forward = request.with(path, request.body.clone());
            match self.client.pass_to(&region, &forward).await {
                Ok(passed) if passed.answer.is_success() => {
                    match serde_json::from_slice::<Value>(&passed.answer.body) {
                        Ok(list) => drop(lists.insert(region, list)),
                        Err(_) => unknown.push(region),
                    }
                }
                // A refusal, such as 403, is the client's answer.
                Ok(passed) if passed.answer.status < 500 => return answer::pass_back(passed),
                Ok(_) | Err(_) => unknown.push(region),
            }
        }
        if lists.is_empty() {
            return answer::failure(&none_available());
        }
        let merged = merge::lists(lists, &unknown, Cursors::next);
        answer::json(StatusCode::OK, &merged)
    }

    /// The figures of all regions: counts are added up.
    pub(crate) async fn figures(&self, request: &ClientRequest) -> Response<Body> {
        let mut forward = request.forward();
        if request.path == "/ojs/federation/stats" {
            forward.path = STATS.to_owned();
        }
        let regions = self.client.region_ids();
        let answers = self.client.pass_to_all(&regions, &forward).await;
        let mut found = BTreeMap::new();
        let mut unknown = Vec::new();
        let mut refusal: Option<(String, Forwarded)> = None;
        for (region, answer) in answers {
            match answer {
                Some(answer) if answer.is_success() => {
                    found.insert(region, serde_json::from_slice(&answer.body).unwrap_or(json!({})));
                }
                Some(answer) if answer.status < 500 => refusal = Some((region, answer)),
                Some(_) | None => unknown.push(region),
            }
        }
        match (found.is_empty(), refusal) {
            (true, Some((region, answer))) if unknown.is_empty() => {
                answer::pass_back(Passed { answer, region, strategy: None })
            }
            (true, _) => answer::failure(&none_available()),
            (false, _) => answer::json(StatusCode::OK, &merge::figures(found, &unknown)),
        }
    }
}
