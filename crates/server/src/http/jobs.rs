//! Routes for jobs: enqueue, show, cancel, activate.

use axum::body::Body;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use rota_engine::{Accepted, Admission, Changed, Refusal, Reply};
use rota_model::envelope::{self, NewJob};
use rota_model::{JobId, Rejection, json};
use serde_json::value::RawValue;

use super::access::{IdHolder, JobsCommand};
use super::admission::{self, block_timeout_ms};
use super::body::NoBody;
use super::body::{self, Json};
use super::error::{ApiError, ApiResult, excerpt};
use super::listen::client_closed;
use super::params::{Params, PathName};
use super::{Access, job_json, over_limit, reply};
use crate::runtime::Answer;
use rota_settings::CancelMode;

pub(super) async fn enqueue(app: Access, headers: HeaderMap, body: Json) -> ApiResult {
    let job = parse(&app, body.text())?;
    app.check_jobs(std::slice::from_ref(&job))?;
    match send(&app, vec![job], block_timeout_ms(&headers)?).await? {
        Answer::Reply(Reply::Enqueued(admission)) => match admission.jobs.first() {
            Some(job) => Ok(admission::add_headers(created(job, &admission), &admission)),
            None => Err(ApiError::busy("The job was not accepted.")),
        },
        answer => {
            let reparse = |_| parse(&app, body.text()).ok();
            Err(enqueue_error(&app, answer, reparse).await)
        }
    }
}

pub(super) async fn enqueue_batch(app: Access, headers: HeaderMap, body: Json) -> ApiResult {
    let members = body.members_of(&["jobs"], "a batch")?;
    let jobs = body::member(&members, "jobs")
        .ok_or_else(|| Rejection::field("jobs", "is required").hint("Send {\"jobs\": [...]}."))?;
    let parsed = parse_batch(&app, jobs)?;
    app.check_jobs(&parsed)?;
    match send(&app, parsed, block_timeout_ms(&headers)?).await? {
        Answer::Reply(Reply::Enqueued(admission)) => {
            let response = created_batch(&admission, app.settings.limits.answer_bytes);
            Ok(admission::add_headers(response, &admission))
        }
        answer => {
            let reparse = |index| parse_batch(&app, jobs).ok()?.into_iter().nth(index);
            Err(enqueue_error(&app, answer, reparse).await)
        }
    }
}

pub(super) async fn info(app: Access, name: PathName) -> ApiResult {
    let record = app.record(name.job()?).await?;
    let record = record.ok_or_else(|| ApiError::not_found("job", name.as_str()))?;
    let mut out = Vec::with_capacity(2 * record.body.json.len() + 1024);
    job_json::write_flat_and_wrapped(&mut out, |out| job_json::write_record(out, &record));
    out.push(b'}');
    Ok(reply::raw(StatusCode::OK, out))
}

pub(super) async fn cancel(app: Access, name: PathName, params: Params, _: NoBody) -> ApiResult {
    let mode = match params.get("mode") {
        None => app.settings.jobs.cancel_mode,
        Some("immediate") => CancelMode::Immediate,
        Some("cooperative") => CancelMode::Cooperative,
        Some(other) => {
            let text =
                format!("'mode' is '{}'; it must be immediate or cooperative.", excerpt(other));
            return Err(ApiError::invalid_request(text).detail("field", "mode"));
        }
    };
    let changed = change_one(&app, &name, |id| match mode {
        CancelMode::Immediate => JobsCommand::cancel(vec![id]),
        CancelMode::Cooperative => JobsCommand::request_cancel(vec![id]),
    });
    let changed = changed.await?;
    changed_job(&app, &changed, "cancelled_at").await
}

pub(super) async fn activate(app: Access, name: PathName, _: NoBody) -> ApiResult {
    let changed = change_one(&app, &name, |id| JobsCommand::activate(vec![id])).await?;
    changed_job(&app, &changed, "activated_at").await
}

/// Applies a command to the job that the path names.
pub(super) async fn change_one(
    app: &Access,
    name: &PathName,
    command: impl FnOnce(JobId) -> JobsCommand,
) -> Result<Changed, ApiError> {
    ask_one(app, command(name.job()?)).await?.map_err(|refusal| refused(refusal, name))
}

/// Asks the engine to change one job.
pub(super) async fn ask_one(
    app: &Access,
    command: JobsCommand,
) -> Result<Result<Changed, Refusal>, ApiError> {
    match app.change_jobs(command).await {
        Answer::Reply(Reply::Changed(mut results)) if results.len() == 1 => Ok(results.remove(0)),
        answer => Err(answer.into()),
    }
}

/// The error for a job that was not changed.
pub(super) fn refused(refusal: Refusal, name: &PathName) -> ApiError {
    match refusal {
        Refusal::UnknownJob => ApiError::not_found("job", name.as_str()),
        refusal => ApiError::from(refusal).detail("job_id", name.as_str()),
    }
}

/// The answer with a changed job, its previous state, and the time of the change as member `when`.
pub(super) async fn changed_job(app: &Access, changed: &Changed, when: &str) -> ApiResult {
    job_with(app, changed.id, |members| {
        members.text("previous_state", changed.before.as_str());
        if when != "cancelled_at" {
            members.time(when, changed.at);
        }
    })
    .await
}

/// The answer with a job that was changed, and what `more` adds to it.
pub(super) async fn job_with(
    app: &Access,
    id: JobId,
    more: impl FnOnce(&mut job_json::Members<'_>),
) -> ApiResult {
    let record = app.record(id).await?;
    let mut out = Vec::with_capacity(2048);
    job_json::write_flat_and_wrapped(&mut out, |out| {
        match &record {
            Some(record) => {
                job_json::write_record(out, record);
                out.pop();
            }
            // The job was deleted before this read.
            None => {
                out.extend_from_slice(b"{\"id\":\"");
                id.write(out);
                out.push(b'"');
            }
        }
        more(&mut job_json::Members::continued(out));
        out.push(b'}');
    });
    out.push(b'}');
    Ok(reply::raw(StatusCode::OK, out))
}

/// Enqueues jobs. Does not wait for room any longer when the client has closed its side.
async fn send(app: &Access, jobs: Vec<NewJob>, wait_ms: u64) -> Result<Answer, ApiError> {
    let enqueueing = app.enqueue(jobs, wait_ms);
    if wait_ms == 0 {
        return Ok(enqueueing.await);
    }
    tokio::select! {
        biased;
        answer = enqueueing => Ok(answer),
        () = client_closed() => {
            Err(ApiError::busy("The client closed its side while the enqueue waited for room."))
        }
        error = app.credentials_ended() => Err(error),
    }
}

fn parse(app: &Access, text: &str) -> Result<NewJob, Rejection> {
    let present = app.present();
    let fresh = JobId::v7(present.now.0, fastrand::u128(..));
    envelope::parse(text, &app.rules, present, fresh, app.sender())
}

fn parse_batch(app: &Access, raw: &RawValue) -> Result<Vec<NewJob>, ApiError> {
    let max_jobs = app.settings.limits.batch_jobs;
    let jobs = json::elements(raw).ok_or_else(|| Rejection::field("jobs", "must be an array"))?;
    if jobs.is_empty() {
        return Err(Rejection::field("jobs", "is empty").hint("Send at least one job.").into());
    }
    if jobs.len() > max_jobs {
        let text = format!("has {} jobs; at most {max_jobs} are accepted at once", jobs.len());
        return Err(Rejection::value("jobs", text).hint("Split the batch.").into());
    }
    let parse_at = |(i, raw): (usize, &&RawValue)| {
        parse(app, raw.get()).map_err(|rejection| rejection.at_index(i))
    };
    Ok(jobs.iter().enumerate().map(parse_at).collect::<Result<_, _>>()?)
}

fn created(job: &Accepted, admission: &Admission) -> Response<Body> {
    let mut out = Vec::with_capacity(2 * job.body.len() + 640);
    job_json::write_flat_and_wrapped(&mut out, |out| job_json::write_accepted(out, job));
    admission::write_over_quota(&mut out, admission);
    out.push(b'}');
    let mut response = reply::raw(StatusCode::CREATED, out);
    let mut location = b"/ojs/v1/jobs/".to_vec();
    job.id.write(&mut location);
    let location = HeaderValue::from_bytes(&location).expect("an id is ASCII");
    response.headers_mut().insert(LOCATION, location);
    response
}

/// Jobs are written whole up to `max_bytes`, the others without what the producer knows anyway.
fn created_batch(admission: &Admission, max_bytes: usize) -> Response<Body> {
    let jobs = &admission.jobs;
    let bytes: usize = jobs.iter().map(|job| job.body.len() + 192).sum();
    let mut out = Vec::with_capacity(bytes.min(max_bytes) + 256 * jobs.len());
    out.extend_from_slice(b"{\"jobs\":[");
    for (i, job) in jobs.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        match out.len() + job.body.len() <= max_bytes {
            true => job_json::write_accepted(&mut out, job),
            false => job_json::write_accepted_short(&mut out, job),
        }
    }
    out.extend_from_slice(format!("],\"count\":{}", jobs.len()).as_bytes());
    admission::write_over_quota(&mut out, admission);
    out.push(b'}');
    reply::raw(StatusCode::CREATED, out)
}

/// The error for an enqueue that was refused. For an id that is taken, it shows the existing job if that
/// belongs to the same tenant. `reparse` returns the refused job, by its index in the request.
async fn enqueue_error(
    app: &Access,
    answer: Answer,
    reparse: impl FnOnce(usize) -> Option<NewJob>,
) -> ApiError {
    let (id, index) = match answer {
        Answer::Reply(Reply::Refused(Refusal::IdTaken { id, index })) => (id, index),
        Answer::Reply(Reply::Refused(refusal)) => {
            return over_limit::error_with_depth(app, refusal).await;
        }
        answer => return answer.into(),
    };
    let error = ApiError::from(Refusal::IdTaken { id, index });
    let tenant = reparse(index).map(|job| job.class.tenant);
    let Some(tenant) = tenant else { return error };
    let record = match app.holder_of_id(id, &tenant).await {
        Ok(IdHolder::Own(record)) => record,
        Ok(IdHolder::Other) => return error.without_detail("existing_job_id"),
        Ok(IdHolder::Request) | Err(_) => return error,
    };
    let mut out = Vec::new();
    job_json::write_record(&mut out, &record);
    match serde_json::from_slice(&out) {
        Ok(job) => error.beside("job", job),
        Err(_) => error,
    }
}
