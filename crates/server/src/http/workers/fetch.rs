//! The fetch route, which hands out jobs to workers.

use std::collections::VecDeque;
use std::time::Duration;

use axum::http::StatusCode;
use rota_engine::Fetch;
use rota_store::{Body, Record};
use serde::Deserialize;
use serde_json::Value;

use super::{pool, preference, queues, visibility, worker_id};
use crate::http::body::Json;
use crate::http::bounded_list::BoundedList;
use crate::http::error::{ApiError, ApiResult};
use crate::http::listen::{client_closed_after, has_connection, is_kept_back, may_not_wait};
use crate::http::{Access, job_json, reply};
use crate::runtime::{Delivery, ReadError};

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
        max_bytes: app.settings.limits.answer_bytes as u64,
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
        error = app.credentials_ended(), if wait_ms > 0 => return Err(error),
    };
    if jobs.is_empty() && wait_ms > 0 && !may_wait {
        return Err(may_not_wait());
    }
    deliver(&app, &jobs).await
}

/// Writes the answer, in which there may not be room for all jobs; the others go back to their queues.
async fn deliver(app: &Access, jobs: &[Delivery]) -> ApiResult {
    let mut claims = UndeliveredClaims { app, jobs };
    let mut list = BoundedList::new(b"{\"jobs\":[", app.settings.limits.answer_bytes);
    let (mut sources, mut ids_read, mut damaged) = (Sources::default(), Vec::new(), None);
    while let Some((job, rest)) = claims.jobs.split_first() {
        let Source { body, record } = match sources.read(app, claims.jobs, list.room()).await {
            Ok(source) => source,
            // Given back, it would come first again, and nobody would get the jobs behind it.
            Err(error) if error.is_damage() => {
                damaged = Some(error);
                claims.jobs = rest;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        // Without a body, the job was cancelled and removed after it was claimed.
        if let Some(body) = &body {
            if !list.push(|out| job_json::write_delivery(out, job, body, record.as_ref())) {
                break;
            }
            if job.body.is_none() {
                ids_read.push((body.id, job.claimed.seq));
            }
        }
        claims.jobs = rest;
    }
    if let Some(error) = damaged
        && list.len() == 0
    {
        return Err(error.into());
    }
    app.note_active_ids(ids_read);
    let delivered = &jobs[..jobs.len() - claims.jobs.len()];
    let mut response = reply::raw(StatusCode::OK, list.finish(b"]}"));
    if !delivered.is_empty() && has_connection() {
        response.extensions_mut().insert(app.claims_in_answer(delivered));
    }
    Ok(response)
}

/// Claimed jobs that are not in the answer yet. Those that are left when this is dropped are given back.
struct UndeliveredClaims<'a> {
    app: &'a Access,
    jobs: &'a [Delivery],
}

impl Drop for UndeliveredClaims<'_> {
    fn drop(&mut self) {
        self.app.undo_claims(self.jobs);
    }
}

/// What a job is written from.
struct Source {
    body: Option<Body>,
    /// The whole record, if the job may have run before.
    record: Option<Record>,
}

/// Bodies and records that were read ahead of the job that is written.
#[derive(Default)]
struct Sources {
    bodies: VecDeque<Option<Body>>,
    records: VecDeque<Option<Record>>,
}

impl Sources {
    /// The source of the first of these jobs. Reads ahead for the others as far as there is room.
    async fn read(
        &mut self,
        app: &Access,
        jobs: &[Delivery],
        room: usize,
    ) -> Result<Source, ReadError> {
        let those =
            |condition: fn(&Delivery) -> bool| jobs.iter().filter(move |job| condition(job));
        let Some(job) = jobs.first() else { return Ok(Source { body: None, record: None }) };
        if lacks_body(job) {
            if self.bodies.is_empty() {
                self.bodies = match app.bodies_of_claimed(those(lacks_body), room).await {
                    // Perhaps that of another job.
                    Err(error) if error.is_damage() => {
                        app.bodies_of_claimed(those(lacks_body).take(1), room).await?.into()
                    }
                    bodies => bodies?.into(),
                };
            }
            return Ok(Source { body: self.bodies.pop_front().flatten(), record: None });
        }
        if !has_history(job) {
            return Ok(Source { body: job.body.clone(), record: None });
        }
        if self.records.is_empty() {
            self.records = match app.records_of_claimed(those(has_history), room).await {
                Err(error) if error.is_damage() => {
                    app.records_of_claimed(those(has_history).take(1), room).await?.into()
                }
                records => records?.into(),
            };
        }
        let record = self.records.pop_front().flatten();
        let body = job.body.clone().or(record.as_ref().map(|record| record.body.clone()));
        Ok(Source { body, record })
    }
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
