//! The fetch route, which hands out jobs to workers.

use std::time::Duration;

use axum::http::StatusCode;
use rota_engine::Fetch;
use rota_model::Seq;
use rota_store::{Body, Record};
use serde::Deserialize;
use serde_json::Value;

use super::{pool, preference, queues, visibility, worker_id};
use crate::http::body::Json;
use crate::http::error::{ApiError, ApiResult};
use crate::http::listen::{client_closed_after, is_kept_back, may_not_wait};
use crate::http::{Access, job_json, reply};
use crate::runtime::Delivery;

/// The longest that a fetch may wait for jobs, in milliseconds.
const MAX_WAIT_MS: u64 = 30_000;

/// Fetches that do not wait take less, unless the server is overloaded.
const USUAL_TIME: Duration = Duration::from_millis(20);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FetchBody {
    queues: Option<Vec<String>>,
    count: Option<u64>,
    worker_id: Option<String>,
    pool: Option<String>,
    visibility_timeout_ms: Option<u64>,
    visibility_timeout: Option<u64>,
    wait_ms: Option<u64>,
    strategy: Option<Value>,
    weights: Option<Value>,
}

pub(in crate::http) async fn fetch(app: Access, body: Json) -> ApiResult {
    let body: FetchBody = body.parse()?;
    let wait_ms = body.wait_ms.unwrap_or(0);
    if wait_ms > MAX_WAIT_MS {
        return Err(ApiError::validation(
            "wait_ms",
            format!("'wait_ms' is {wait_ms}; it must be at most {MAX_WAIT_MS}."),
        ));
    }
    let named = match body.queues {
        Some(names) if !names.is_empty() => queues(names)?,
        _ => Vec::new(),
    };
    let named = app.queues_to_fetch(named)?;
    let preference = preference(body.strategy, body.weights, &named)?;
    let fetch = Fetch {
        // May be empty: the engine knows the queues of the worker's pool or registration.
        queues: named.iter().map(|name| app.queue(name)).collect::<Result<_, _>>()?,
        count: count(&app, body.count)?,
        worker: body.worker_id.as_deref().map(|id| worker_id(&app, id)).transpose()?,
        pool: body.pool.as_deref().map(pool).transpose()?,
        tenant: None,
        preference,
        visibility_ms: visibility(&app, body.visibility_timeout_ms, body.visibility_timeout)?,
        wait: None,
    };
    let may_wait = !is_kept_back();
    let fetching = app.fetch(fetch, if may_wait { wait_ms } else { 0 });
    let watch_after = if wait_ms > 0 { Duration::ZERO } else { USUAL_TIME };
    let jobs = tokio::select! {
        biased;
        jobs = fetching => jobs.map_err(ApiError::from)?,
        // The client is probably gone, and jobs for it would be lost until their reservation ends.
        () = client_closed_after(watch_after) => Vec::new(),
    };
    if jobs.is_empty() && wait_ms > 0 && !may_wait {
        return Err(may_not_wait());
    }
    Ok(reply::raw(StatusCode::OK, deliver(&app, &jobs).await?))
}

/// Writes the answer. Reads bodies that are not cached from the store, and the whole record of jobs that
/// may have run before.
async fn deliver(app: &Access, jobs: &[Delivery]) -> Result<Vec<u8>, ApiError> {
    let seqs = |condition: fn(&Delivery) -> bool| -> Vec<Seq> {
        jobs.iter().filter(|job| condition(job)).map(|job| job.claimed.seq).collect()
    };
    let mut bodies = app.bodies_of_named(seqs(lacks_body)).await?.into_iter();
    let mut records = app.records_of_claimed(seqs(has_history)).await?.into_iter();
    let (mut out, mut ids_read) = (Vec::with_capacity(64 + jobs.len() * 512), Vec::new());
    out.extend_from_slice(b"{\"jobs\":[");
    for job in jobs {
        let record: Option<Record> = if has_history(job) { records.next().flatten() } else { None };
        let read: Option<Body> = if lacks_body(job) { bodies.next().flatten() } else { None };
        let read = read.as_ref().or(record.as_ref().map(|record| &record.body));
        let Some(body) = job.body.as_ref().or(read) else {
            // The job was cancelled and removed after it was claimed.
            continue;
        };
        if job.body.is_none() {
            ids_read.push((body.id, job.claimed.seq));
        }
        if out.last() == Some(&b'}') {
            out.push(b',');
        }
        job_json::write_delivery(&mut out, job, body, record.as_ref());
    }
    out.extend_from_slice(b"]}");
    app.note_active_ids(ids_read);
    Ok(out)
}

/// Whether the job may have run before: true unless it was enqueued in this process and never ran.
fn has_history(job: &Delivery) -> bool {
    !job.claimed.fresh
}

fn lacks_body(job: &Delivery) -> bool {
    job.claimed.fresh && job.body.is_none()
}

fn count(app: &Access, count: Option<u64>) -> Result<usize, ApiError> {
    let max_jobs = app.settings.limits.fetch_jobs;
    match usize::try_from(count.unwrap_or(1)) {
        Ok(count) if (1..=max_jobs).contains(&count) => Ok(count),
        _ => Err(ApiError::validation("count", format!("'count' must be from 1 to {max_jobs}."))),
    }
}
