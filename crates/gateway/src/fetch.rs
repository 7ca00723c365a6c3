//! Jobs for workers.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use rota_client::federation::Passed;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answer;
use crate::caller::ClientRequest;
use crate::gateway::Service;
use crate::jobs::not_json;

/// The longest wait that servers take.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct Fetched {
    #[serde(default)]
    jobs: Vec<FetchedJob>,
}

#[derive(Deserialize)]
struct FetchedJob {
    id: String,
}

impl Service {
    /// Asks the regions one after another without waiting, and then waits at the first of them.
    pub(crate) async fn fetch(&self, request: &ClientRequest) -> Response<Body> {
        let body: Map<String, Value> = match serde_json::from_slice(&request.body) {
            Ok(body) => body,
            Err(_) => return not_json(&request.body),
        };
        let regions = self.fetch_regions();
        let wait = body.get("wait_ms").and_then(Value::as_u64).unwrap_or(0);
        let mut last = None;
        if regions.len() > 1 {
            let mut at_once = body.clone();
            at_once.remove("wait_ms");
            let at_once = serde_json::to_vec(&at_once).expect("members are JSON").into();
            let forward = request.with(request.path.clone(), at_once);
            for region in &regions {
                let asked = self.client.pass_to(region, &forward).await;
                match &asked {
                    Ok(passed) if self.hands_out(passed) || !passed.answer.is_success() => {
                        return answer::pass_back(asked.expect("it was just looked at"));
                    }
                    Ok(_) | Err(_) => last = Some(asked),
                }
            }
        }
        if let (0, Some(asked)) = (wait, last) {
            return match asked {
                Ok(passed) => answer::pass_back(passed),
                Err(error) => answer::failure(&error),
            };
        }
        self.fetch_waiting(request, &regions, wait).await
    }

    /// Waits at the first region that answers.
    async fn fetch_waiting(
        &self,
        request: &ClientRequest,
        regions: &[String],
        wait_ms: u64,
    ) -> Response<Body> {
        let mut forward = request.forward();
        let wait = Duration::from_millis(wait_ms).min(LONGEST_WAIT);
        forward.longer = wait;
        let began = Instant::now();
        let mut last = None;
        for region in regions {
            if last.is_some() {
                // The client waits no longer because a region went away meanwhile.
                let left = wait.saturating_sub(began.elapsed());
                forward.body = with_wait(&request.body, left);
                forward.longer = left;
            }
            match self.client.pass_to(region, &forward).await {
                Ok(passed) => {
                    self.hands_out(&passed);
                    return answer::pass_back(passed);
                }
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) => answer::failure(&error),
            None => answer::json(axum::http::StatusCode::OK, &serde_json::json!({"jobs": []})),
        }
    }

    /// Remembers where the jobs of an answer are; whether there are any.
    fn hands_out(&self, passed: &Passed) -> bool {
        let fetched = serde_json::from_slice::<Fetched>(&passed.answer.body);
        let jobs = fetched.map(|fetched| fetched.jobs).unwrap_or_default();
        jobs.iter().for_each(|job| self.client.remember_home(&job.id, &passed.region));
        !jobs.is_empty()
    }
}

/// The fetch with another time to wait.
fn with_wait(body: &Bytes, wait: Duration) -> Bytes {
    let mut body: Map<String, Value> =
        serde_json::from_slice(body).expect("it was read as an object before");
    let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    body.insert("wait_ms".to_owned(), ms.into());
    serde_json::to_vec(&body).expect("members are JSON").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_that_goes_on_in_another_region_waits_for_the_rest_of_its_time_only() {
        let body = Bytes::from_static(br#"{"queues": ["a"], "wait_ms": 20000, "count": 3}"#);
        let rest = with_wait(&body, Duration::from_millis(1_500));
        let rest: Value = serde_json::from_slice(&rest).unwrap();
        assert_eq!(rest, serde_json::json!({"queues": ["a"], "wait_ms": 1500, "count": 3}));
    }
}
