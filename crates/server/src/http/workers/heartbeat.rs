//! The heartbeat route: extends a worker's reservations and returns its directive.

use std::collections::HashSet;

use rota_engine::{Beat, Reply};
use rota_model::{Directive, JobId, Rejection};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{WorkerInfoBody, visibility, worker_id};
use crate::http::body::Json;
use crate::http::error::{ApiError, ApiResult};
use crate::http::{Access, reply};
use crate::runtime::Answer;

/// The members of a heartbeat, besides those of [`WorkerInfoBody`].
const MEMBERS: &[&str] = &[
    "worker_id",
    "state",
    "active_jobs",
    "active_job_ids",
    "visibility_timeout_ms",
    "visibility_timeout",
];

#[derive(Deserialize)]
struct BeatBody {
    worker_id: String,
    state: Option<String>,
    active_jobs: Option<Value>,
    active_job_ids: Option<Vec<String>>,
    visibility_timeout_ms: Option<u64>,
    visibility_timeout: Option<u64>,
    #[serde(flatten)]
    about: WorkerInfoBody,
}

pub(in crate::http) async fn heartbeat(app: Access, body: Json) -> ApiResult {
    let known = [MEMBERS, WorkerInfoBody::MEMBERS].concat();
    body.members_of(&known, "a heartbeat")?;
    let body: BeatBody = body.parse()?;
    let worker = worker_id(&app, &body.worker_id)?;
    let state = match body.state.as_deref() {
        Some(text) => Some(Directive::parse(text).ok_or_else(|| {
            ApiError::validation("state", "'state' must be running, quiet or terminate.")
        })?),
        None => None,
    };
    let jobs = active_jobs(&app, body.active_jobs, body.active_job_ids)?;
    let visibility_ms = visibility(&app, body.visibility_timeout_ms, body.visibility_timeout)?;
    let about = body.about.registration(worker.clone())?.into();
    let beat = Beat { worker, state, jobs: jobs.clone(), visibility_ms, about };
    match app.beat(beat).await {
        Answer::Reply(Reply::Beat(beat)) => {
            let answered: HashSet<JobId> = [&beat.extended, &beat.cancelled, &beat.lost]
                .into_iter()
                .flatten()
                .copied()
                .collect();
            let names = |ids: &[JobId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
            let unknown: Vec<JobId> =
                jobs.into_iter().filter(|id| !answered.contains(id)).collect();
            let lost: Vec<String> = names(&beat.lost).into_iter().chain(names(&unknown)).collect();
            // For both, the worker is to stop; a worker may know the first list only.
            let to_stop = [names(&beat.cancelled), names(&beat.cancel_requested)].concat();
            Ok(reply::ok(&json!({
                "state": beat.directive.as_str(),
                "jobs_extended": names(&beat.extended),
                "jobs_cancelled": to_stop,
                "jobs_cancel_requested": names(&beat.cancel_requested),
                "jobs_lost": lost,
                "server_time": app.wall_clock().to_string(),
            })))
        }
        answer => Err(answer.into()),
    }
}

/// The jobs that the worker reports as active. In one document of the specification `active_jobs` is a
/// list of ids, in another a number.
fn active_jobs(
    app: &Access,
    active_jobs: Option<Value>,
    ids: Option<Vec<String>>,
) -> Result<Vec<JobId>, ApiError> {
    let listed = match active_jobs {
        None | Some(Value::Null | Value::Number(_)) => Vec::new(),
        Some(value) => serde_json::from_value::<Vec<String>>(value).map_err(|_| {
            Rejection::field("active_jobs", "must be a list of job ids, or a number")
        })?,
    };
    let mut ids: Vec<String> = listed.into_iter().chain(ids.unwrap_or_default()).collect();
    ids.sort_unstable();
    ids.dedup();
    let max_jobs = app.settings.limits.batch_jobs;
    if ids.len() > max_jobs {
        return Err(ApiError::validation(
            "active_jobs",
            format!("The heartbeat names {} jobs; at most {max_jobs} are accepted.", ids.len()),
        )
        .hint("Send several heartbeats."));
    }
    // Malformed ids are no jobs; they are skipped.
    Ok(ids.iter().filter_map(|id| JobId::parse(id).ok()).collect())
}
