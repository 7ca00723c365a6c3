//! Workers: fetch, heartbeat, registration.

use std::collections::HashSet;

use axum::extract::State;
use axum::http::StatusCode;
use rota_engine::{Command, Fetch, Preference, Refusal, Registration, Reply};
use rota_model::pool::{parse_strategy, parse_weights};
use rota_model::{Directive, JobId, PoolName, QueueName, QueueStrategy, Rejection, Seq, WorkerId};
use rota_store::{Body, Record};
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::Json;
use super::caller::caller;
use super::error::{ApiError, ApiResult};
use super::params::PathName;
use super::{App, Shared, job_json, reply};
use crate::runtime::{Answer, Ask, Delivery};

const LONGEST_WAIT_MS: u64 = 30_000;
const MOST_QUEUES: usize = 100;
const MOST_LABELS: usize = 100;

#[derive(Deserialize)]
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

pub(super) async fn fetch(State(app): Shared, body: Json) -> ApiResult {
    let body: FetchBody = body.parse()?;
    let wait_ms = body.wait_ms.unwrap_or(0);
    if wait_ms > LONGEST_WAIT_MS {
        return Err(ApiError::validation(
            "wait_ms",
            format!("'wait_ms' is at most {LONGEST_WAIT_MS}."),
        ));
    }
    let fetch = Fetch {
        queues: fetched_queues(&app, body.queues.unwrap_or_default())?,
        count: count(&app, body.count)?,
        worker: body.worker_id.as_deref().map(|id| worker_id(&app, id)).transpose()?,
        pool: body.pool.as_deref().map(pool).transpose()?,
        tenant: caller(),
        preference: preference(body.strategy, body.weights)?,
        visibility_ms: visibility(&app, body.visibility_timeout_ms, body.visibility_timeout)?,
        wait: None,
    };
    let jobs = app.handle.fetch(fetch, wait_ms).await.map_err(ApiError::from)?;
    Ok(reply::raw(StatusCode::OK, deliver(&app, &jobs).await?))
}

/// Puts the answer together, reading what was not at hand: a body, or everything about a job that
/// has a history.
async fn deliver(app: &App, jobs: &[Delivery]) -> Result<Vec<u8>, ApiError> {
    let seqs = |wanted: fn(&Delivery) -> bool| -> Vec<Seq> {
        jobs.iter().filter(|job| wanted(job)).map(|job| job.claimed.seq).collect()
    };
    let mut bodies = app.handle.bodies(seqs(lacks_body)).await?.into_iter();
    let mut records = app.handle.records(seqs(has_history)).await?.into_iter();
    let (mut out, mut learnt) = (Vec::with_capacity(64 + jobs.len() * 512), Vec::new());
    out.extend_from_slice(b"{\"jobs\":[");
    for job in jobs {
        let record: Option<Record> = if has_history(job) { records.next().flatten() } else { None };
        let read: Option<Body> = if lacks_body(job) { bodies.next().flatten() } else { None };
        let read = read.as_ref().or(record.as_ref().map(|record| &record.body));
        let Some(body) = job.body.as_ref().or(read) else {
            // Cancelled and removed between the claim and this read.
            continue;
        };
        if job.body.is_none() {
            learnt.push((body.id, job.claimed.seq));
        }
        if out.last() == Some(&b'}') {
            out.push(b',');
        }
        job_json::write_delivery(&mut out, job, body, record.as_ref());
    }
    out.extend_from_slice(b"]}");
    app.handle.tell_ids(learnt);
    Ok(out)
}

/// Whatever is not fresh from this process may have run before.
fn has_history(job: &Delivery) -> bool {
    !job.claimed.fresh
}

fn lacks_body(job: &Delivery) -> bool {
    job.claimed.fresh && job.body.is_none()
}

#[derive(Deserialize)]
struct BeatBody {
    worker_id: String,
    state: Option<String>,
    active_jobs: Option<Value>,
    active_job_ids: Option<Vec<String>>,
    visibility_timeout_ms: Option<u64>,
    visibility_timeout: Option<u64>,
    #[serde(flatten)]
    about: AboutBody,
}

#[derive(Deserialize, Default)]
struct AboutBody {
    strategy: Option<Value>,
    weights: Option<Value>,
    hostname: Option<String>,
    pid: Option<u64>,
    queues: Option<Vec<String>>,
    concurrency: Option<u32>,
    labels: Option<Vec<String>>,
    pool: Option<String>,
    version: Option<String>,
    started_at: Option<String>,
    metadata: Option<Value>,
}

pub(super) async fn heartbeat(State(app): Shared, body: Json) -> ApiResult {
    let body: BeatBody = body.parse()?;
    let worker = worker_id(&app, &body.worker_id)?;
    let state = match body.state.as_deref() {
        Some(text) => Some(Directive::parse(text).ok_or_else(|| {
            ApiError::validation("state", "'state' must be running, quiet or terminate.")
        })?),
        None => None,
    };
    let jobs = held_jobs(&app, body.active_jobs, body.active_job_ids)?;
    let visibility_ms = visibility(&app, body.visibility_timeout_ms, body.visibility_timeout)?;
    let about = Box::new(about(worker.clone(), body.about)?);
    let ask = Ask::Beat { worker, state, jobs: jobs.clone(), visibility_ms, about };
    match app.ask(ask).await {
        Answer::Reply(Reply::Beat(beat)) => {
            let known: HashSet<JobId> = [&beat.extended, &beat.cancelled, &beat.lost]
                .into_iter()
                .flatten()
                .copied()
                .collect();
            let names = |ids: &[JobId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
            let unknown: Vec<JobId> = jobs.into_iter().filter(|id| !known.contains(id)).collect();
            let lost: Vec<String> = names(&beat.lost).into_iter().chain(names(&unknown)).collect();
            Ok(reply::ok(&json!({
                "state": beat.directive.as_str(),
                "jobs_extended": names(&beat.extended),
                "jobs_cancelled": names(&beat.cancelled),
                "jobs_lost": lost,
                "server_time": app.handle.clock().now().wall.to_string(),
            })))
        }
        answer => Err(answer.into()),
    }
}

#[derive(Deserialize)]
struct RegisterBody {
    worker_id: Option<String>,
    id: Option<String>,
    #[serde(flatten)]
    about: AboutBody,
}

/// One document has the fields at the top, another in `worker`.
#[derive(Deserialize)]
struct Registering {
    worker: Option<RegisterBody>,
    #[serde(flatten)]
    at_the_top: RegisterBody,
}

pub(super) async fn register(State(app): Shared, body: Json) -> ApiResult {
    let body: Registering = body.parse()?;
    let body = body.worker.unwrap_or(body.at_the_top);
    let id =
        body.worker_id.or(body.id).ok_or_else(|| Rejection::field("worker_id", "is required"))?;
    let about = about(worker_id(&app, &id)?, body.about)?;
    match app.handle.command(Command::Register(about)).await? {
        Reply::Done => {
            let seconds = |d: std::time::Duration| d.as_secs_f64();
            Ok(reply::ok(&json!({
                "ok": true,
                "worker_id": id,
                "server_time": app.handle.clock().now().wall.to_string(),
                "heartbeat_interval": seconds(app.settings.workers.heartbeat_interval),
                "heartbeat_timeout": seconds(app.settings.workers.heartbeat_timeout),
                "visibility_timeout_default": seconds(app.settings.jobs.visibility_timeout),
            })))
        }
        reply => Err(Answer::Reply(reply).into()),
    }
}

pub(super) async fn deregister(State(app): Shared, body: Json) -> ApiResult {
    #[derive(Deserialize)]
    struct Body {
        worker_id: String,
    }
    let body: Body = body.parse()?;
    remove(&app, worker_id(&app, &body.worker_id)?).await
}

pub(super) async fn deregister_by_path(State(app): Shared, name: PathName) -> ApiResult {
    remove(&app, app.worker(name.worker()?)).await
}

async fn remove(app: &App, id: WorkerId) -> ApiResult {
    match app.handle.command(Command::Deregister(id.clone())).await? {
        Reply::Done => {
            Ok(reply::ok(&json!({"ok": true, "worker_id": id.local(), "deregistered": true})))
        }
        Reply::Refused(Refusal::UnknownWorker) => Err(ApiError::not_found("worker", id.local())),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// `active_jobs` is a list of ids in one document and a number in another.
fn held_jobs(
    app: &App,
    active_jobs: Option<Value>,
    ids: Option<Vec<String>>,
) -> Result<Vec<JobId>, ApiError> {
    let listed = match active_jobs {
        None | Some(Value::Null | Value::Number(_)) => Vec::new(),
        Some(value) => serde_json::from_value::<Vec<String>>(value).map_err(|_| {
            Rejection::field("active_jobs", "must be a list of job ids, or a number")
        })?,
    };
    let mut all: Vec<String> = listed.into_iter().chain(ids.unwrap_or_default()).collect();
    all.sort_unstable();
    all.dedup();
    let most = app.settings.limits.batch_jobs;
    if all.len() > most {
        return Err(ApiError::validation(
            "active_jobs",
            format!("At most {most} jobs fit in a heartbeat."),
        )
        .hint("Send several heartbeats."));
    }
    // An id that cannot be one is nobody's job; the others still count.
    Ok(all.iter().filter_map(|id| JobId::parse(id).ok()).collect())
}

fn about(worker: WorkerId, body: AboutBody) -> Result<Registration, ApiError> {
    let queues = match body.queues {
        Some(names) if !names.is_empty() => queues(names)?,
        _ => Vec::new(),
    };
    let labels = body.labels.unwrap_or_default();
    if labels.len() > MOST_LABELS {
        return Err(ApiError::validation(
            "labels",
            format!("At most {MOST_LABELS} labels are kept."),
        ));
    }
    if body.concurrency == Some(0) {
        return Err(ApiError::validation("concurrency", "'concurrency' must be at least 1."));
    }
    Ok(Registration {
        worker,
        hostname: body.hostname,
        pid: body.pid,
        queues,
        concurrency: body.concurrency,
        labels,
        pool: body.pool.as_deref().map(pool).transpose()?,
        preference: preference(body.strategy, body.weights)?,
        version: body.version,
        started_at: body.started_at,
        metadata: body.metadata,
    })
}

/// The queues of a fetch. Whether it may name none is for the engine to say, which knows the worker's
/// pool.
fn fetched_queues(app: &App, names: Vec<String>) -> Result<Vec<QueueName>, ApiError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    Ok(queues(names)?.iter().map(|name| app.queue(name)).collect())
}

fn preference(
    strategy: Option<Value>,
    weights: Option<Value>,
) -> Result<Option<Preference>, ApiError> {
    let given = |value: Option<Value>| value.filter(|value| !value.is_null());
    let strategy = given(strategy).map(|value| parse_strategy(&value, "strategy")).transpose()?;
    let weights = given(weights).map(|value| parse_weights(&value)).transpose()?;
    Ok(match (strategy, weights) {
        (None, None) => None,
        (strategy, weights) => Some(Preference {
            // Weights alone mean that they are to be used.
            strategy: strategy.unwrap_or(QueueStrategy::Weighted),
            weights: weights.unwrap_or_default(),
        }),
    })
}

fn queues(names: Vec<String>) -> Result<Vec<QueueName>, ApiError> {
    if names.is_empty() || names.len() > MOST_QUEUES {
        let text = format!("must name from 1 to {MOST_QUEUES} queues");
        return Err(Rejection::field("queues", text)
            .hint("Send \"queues\": [\"default\"].")
            .into());
    }
    let parse = |name: &String| {
        QueueName::parse(name).map_err(|e| Rejection::field("queues", format!("{e}")))
    };
    let mut parsed: Vec<QueueName> = Vec::with_capacity(names.len());
    for name in &names {
        let name = parse(name)?;
        if !parsed.contains(&name) {
            parsed.push(name);
        }
    }
    Ok(parsed)
}

fn count(app: &App, count: Option<u64>) -> Result<usize, ApiError> {
    let most = app.settings.limits.fetch_jobs;
    match usize::try_from(count.unwrap_or(1)) {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        _ => Err(ApiError::validation("count", format!("'count' must be from 1 to {most}."))),
    }
}

fn visibility(app: &App, ms: Option<u64>, seconds: Option<u64>) -> Result<Option<u64>, ApiError> {
    let most = app.rules.max_visibility_ms;
    match ms.or(seconds.map(|s| s.saturating_mul(1000))) {
        Some(ms) if ms == 0 || ms > most => Err(ApiError::validation(
            "visibility_timeout_ms",
            format!("'visibility_timeout_ms' must be from 1 to {most}."),
        )),
        other => Ok(other),
    }
}

fn worker_id(app: &App, text: &str) -> Result<WorkerId, ApiError> {
    let id = WorkerId::parse(text).map_err(|e| Rejection::field("worker_id", e.to_string()))?;
    Ok(app.worker(id))
}

fn pool(text: &str) -> Result<PoolName, ApiError> {
    Ok(PoolName::parse(text).map_err(|e| Rejection::field("pool", e.to_string()))?)
}
