//! Reports of workers, each to its job's region.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Response, StatusCode};
use rota_client::Forwarded;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::answer;
use crate::caller::ClientRequest;
use crate::gateway::Service;
use crate::jobs::not_json;

/// As many reports as a region takes in one request.
const MOST_REPORTS: usize = 1_000;

#[derive(Deserialize)]
struct Reports<'a> {
    #[serde(borrow, default)]
    jobs: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    job_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
}

/// A report of a list.
struct Report<'a> {
    json: &'a RawValue,
    id: String,
    /// The regions to ask for the job, in order.
    regions: Vec<String>,
    result: Option<Box<RawValue>>,
    /// Whether a region that may have the job could not be asked.
    unasked: bool,
}

/// Reports that go to one region.
#[derive(Serialize)]
struct Group<'a> {
    jobs: Vec<&'a RawValue>,
}

/// The answer to a list of reports.
#[derive(Serialize)]
struct Settled {
    results: Vec<Box<RawValue>>,
    succeeded: usize,
    failed: usize,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<Box<RawValue>>,
}

impl Service {
    pub(crate) async fn settle(&self, request: &ClientRequest) -> Response<Body> {
        let Ok(body) = serde_json::from_slice::<Reports<'_>>(&request.body) else {
            return match serde_json::from_slice::<Value>(&request.body) {
                Ok(_) => self.to_home(request).await,
                Err(_) => not_json(&request.body),
            };
        };
        let id = body.job_id.or(body.id);
        match (body.jobs, id) {
            (None, Some(id)) => self.to_job(&id, request).await,
            (Some(jobs), None) if (1..=MOST_REPORTS).contains(&jobs.len()) => {
                match self.reports(request, jobs) {
                    Some(reports) => self.settle_many(request, reports).await,
                    None => self.to_home(request).await,
                }
            }
            // The region says what is wrong.
            _ => self.to_home(request).await,
        }
    }

    /// The reports and where they go; `None` if one of them names no job.
    fn reports<'a>(
        &self,
        request: &ClientRequest,
        jobs: Vec<&'a RawValue>,
    ) -> Option<Vec<Report<'a>>> {
        let nearest = self.client.region_ids();
        let report = |json: &'a RawValue| {
            let named: Reports<'_> = serde_json::from_str(json.get()).ok()?;
            let id = named.job_id.or(named.id)?.into_owned();
            let mut regions = nearest.clone();
            let home = self.client.home_of(&id);
            regions.sort_by_key(|region| match Some(region) {
                known if known == home.as_ref() => 0,
                known if known == request.hint.as_ref() => 1,
                _ => 2,
            });
            Some(Report { json, id, regions, result: None, unasked: false })
        };
        jobs.into_iter().map(report).collect()
    }

    /// Reports about jobs of one region go there together. Those that it does not know go on to the next region.
    async fn settle_many(
        &self,
        request: &ClientRequest,
        mut reports: Vec<Report<'_>>,
    ) -> Response<Body> {
        let mut pending: Vec<usize> = (0..reports.len()).collect();
        for round in 0..self.client.region_ids().len() {
            let mut by_region: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for at in pending.drain(..) {
                if let Some(region) = reports[at].regions.get(round) {
                    by_region.entry(region.clone()).or_default().push(at);
                }
            }
            for (region, group) in by_region {
                self.settle_in(&region, request, &mut reports, &group).await;
                pending.extend(group.into_iter().filter(|at| !reports[*at].is_settled()));
            }
        }
        answer_all(reports)
    }

    /// Sends a group of reports to one region and takes over its results.
    async fn settle_in(
        &self,
        region: &str,
        request: &ClientRequest,
        reports: &mut [Report<'_>],
        group: &[usize],
    ) {
        let jobs: Vec<&RawValue> = group.iter().map(|at| reports[*at].json).collect();
        let body = serde_json::to_vec(&Group { jobs }).expect("reports are JSON");
        let forward = request.with(request.path.clone(), body.into());
        let results = match self.client.pass_to(region, &forward).await {
            Ok(passed) => results(&passed.answer, group.len()),
            Err(_) => {
                group.iter().for_each(|at| reports[*at].unasked = true);
                return;
            }
        };
        if let Some(results) = results {
            for (at, result) in group.iter().zip(results) {
                reports[*at].result = Some(result);
            }
            return;
        }
        // One of them is wrong, or the server takes no lists: each gets its own answer.
        for at in group {
            let report = &mut reports[*at];
            let body = report.json.get().to_owned();
            let forward = request.with(request.path.clone(), body.into());
            match self.client.pass_to(region, &forward).await {
                Ok(passed) => report.result = Some(single(&passed.answer, &report.id)),
                Err(_) => report.unasked = true,
            }
        }
    }
}

impl Report<'_> {
    /// Whether a region has answered that knows the job.
    fn is_settled(&self) -> bool {
        self.result.as_ref().is_some_and(|result| status(result) != 404)
    }
}

fn status(result: &RawValue) -> u16 {
    #[derive(Deserialize)]
    struct Entry {
        #[serde(default = "success")]
        status: u16,
    }
    fn success() -> u16 {
        200
    }
    serde_json::from_str::<Entry>(result.get()).map_or(200, |entry| entry.status)
}

/// The results of a list, if there is one for each report.
fn results(answer: &Forwarded, count: usize) -> Option<Vec<Box<RawValue>>> {
    let results: Results = serde_json::from_slice(&answer.body).ok()?;
    (answer.is_success() && results.results.len() == count).then_some(results.results)
}

/// The answer to a single report, as an entry of a list.
fn single(answer: &Forwarded, id: &str) -> Box<RawValue> {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let entry = match (answer.is_success(), body.get("error")) {
        (true, _) => body,
        (false, error) => {
            json!({"error": error, "job_id": id, "id": id, "status": answer.status})
        }
    };
    to_raw_value(&entry).expect("values are JSON")
}

fn answer_all(reports: Vec<Report<'_>>) -> Response<Body> {
    let unknown = |id: &str| {
        let entry = json!({
            "error": {
                "code": "region_unknown",
                "message": "The job was not found, but not all regions could be asked.",
                "hint": "Report it again when all regions are back.",
                "retryable": true,
            },
            "job_id": id, "id": id, "status": 503,
        });
        to_raw_value(&entry).expect("values are JSON")
    };
    let results: Vec<Box<RawValue>> = reports
        .into_iter()
        .map(|report| match report.is_settled() || !report.unasked {
            true => report.result.unwrap_or_else(|| unknown(&report.id)),
            false => unknown(&report.id),
        })
        .collect();
    let succeeded = results.iter().filter(|result| status(result) < 300).count();
    let failed = results.len() - succeeded;
    let body = serde_json::to_vec(&Settled { results, succeeded, failed });
    let mut response = Response::new(Body::from(body.expect("results are JSON")));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(CONTENT_TYPE, answer::JSON);
    response
}
