//! Routes for ack and nack, of one job or of many in one commit.

use axum::http::StatusCode;
use bytes::Bytes;
use rota_engine::{Ack, Holder, Nack, Refusal, Reply, Settle, Settled};
use rota_model::{JobId, Rejection, State as JobState, WorkerId, json};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::body::{self, Json, member};
use super::error::{ApiError, ApiResult};
use super::job_json::Members;
use super::{Access, failure, reply};
use crate::runtime::Answer;

const ACK: &[&str] = &["job_id", "id", "worker_id", "attempt", "result", "jobs"];
const NACK: &[&str] = &["job_id", "id", "worker_id", "attempt", "error", "requeue", "jobs"];
/// The approximate size of one job's answer.
const ANSWER_BYTES: usize = 384;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ack,
    Nack,
}

pub(super) async fn ack(app: Access, body: Json) -> ApiResult {
    settle(&app, &body, Kind::Ack).await
}

pub(super) async fn nack(app: Access, body: Json) -> ApiResult {
    settle(&app, &body, Kind::Nack).await
}

async fn settle(app: &Access, body: &Json, kind: Kind) -> ApiResult {
    let members = body.members()?;
    match body::member(&members, "jobs") {
        Some(list) => {
            let others = members.iter().map(|(name, _)| &**name);
            let others = others.filter(|name| !["job_id", "id"].contains(name));
            json::check_members(others, &["jobs"], "", "a list of outcomes")?;
            if let Some(name) =
                ["job_id", "id"].into_iter().find(|id| member(&members, id).is_some())
            {
                let text = "cannot be combined with 'jobs'; name the job in that list";
                return Err(Rejection::value(name, text).into());
            }
            settle_many(app, list, kind).await
        }
        None => {
            let settle = parse(app, &members, kind)?;
            let id = *settle.job();
            let mut outcomes = send(app, vec![settle]).await?;
            match outcomes.pop() {
                Some(Ok(settled)) => {
                    let mut out = Vec::with_capacity(ANSWER_BYTES);
                    write_settled(&mut out, &settled, kind);
                    Ok(reply::raw(StatusCode::OK, out))
                }
                Some(Err(refusal)) => Err(settle_error(refusal, id)),
                None => Err(ApiError::busy("The outcome was not accepted.")),
            }
        }
    }
}

/// Settles a list of jobs. Each has its own result, in the order of the request.
async fn settle_many(app: &Access, list: &RawValue, kind: Kind) -> ApiResult {
    let max_jobs = app.settings.limits.batch_jobs;
    let list = json::elements(list).ok_or_else(|| Rejection::field("jobs", "must be an array"))?;
    if list.is_empty() || list.len() > max_jobs {
        let text = format!("must have from 1 to {max_jobs} entries, not {}", list.len());
        return Err(Rejection::value("jobs", text).into());
    }
    let parse_at = |(i, raw): (usize, &&RawValue)| {
        let members = json::members(raw.get(), "an entry of 'jobs'")?;
        parse(app, &members, kind).map_err(|rejection| rejection.at_index(i))
    };
    let settles = list.iter().enumerate().map(parse_at).collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<JobId> = settles.iter().map(|settle| *settle.job()).collect();
    let outcomes = send(app, settles).await?;
    let settled = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let failed = outcomes.len() - settled;
    let mut out = Vec::with_capacity(64 + outcomes.len() * ANSWER_BYTES);
    out.extend_from_slice(b"{\"results\":[");
    for (i, (outcome, id)) in outcomes.into_iter().zip(ids).enumerate() {
        if i > 0 {
            out.push(b',');
        }
        match outcome {
            Ok(settled) => write_settled(&mut out, &settled, kind),
            Err(refusal) => {
                let error = error_entry(&settle_error(refusal, id), id);
                out.extend_from_slice(error.to_string().as_bytes());
            }
        }
    }
    out.extend_from_slice(format!("],\"succeeded\":{settled},\"failed\":{failed}}}").as_bytes());
    Ok(reply::raw(StatusCode::OK, out))
}

async fn send(
    app: &Access,
    settles: Vec<Settle<JobId>>,
) -> Result<Vec<Result<Settled, Refusal>>, ApiError> {
    match app.settle(settles).await {
        Answer::Reply(Reply::Settled(outcomes)) => Ok(outcomes),
        answer => Err(answer.into()),
    }
}

fn parse(
    app: &Access,
    members: &json::Members<'_>,
    kind: Kind,
) -> Result<Settle<JobId>, Rejection> {
    let ids = [("job_id", member(members, "job_id")), ("id", member(members, "id"))];
    let mut job: Option<JobId> = None;
    for (name, raw) in ids.into_iter().filter_map(|(name, raw)| Some((name, raw?))) {
        let text: String = serde_json::from_str(raw.get())
            .map_err(|_| Rejection::field(name, "must be a string"))?;
        let id = JobId::parse(&text).map_err(|e| Rejection::field(name, e.to_string()))?;
        if job.is_some_and(|job| job != id) {
            return Err(Rejection::field("id", "names another job than 'job_id'"));
        }
        job = Some(id);
    }
    let (known, what) = match kind {
        Kind::Ack => (ACK, "an ack"),
        Kind::Nack => (NACK, "a nack"),
    };
    json::check_members(members.iter().map(|(name, _)| &**name), known, "", what)?;
    let job = job.ok_or_else(|| Rejection::field("job_id", "is required"))?;
    let holder = holder(app, members)?;
    Ok(match kind {
        Kind::Ack => Settle::Ack(Ack { job, holder, result: result(app, members)? }),
        Kind::Nack => {
            let (failure, requeue) = failure(app, members)?;
            Settle::Nack(Nack { job, holder, failure, requeue, proven: app.sender().is_proven() })
        }
    })
}

fn result(app: &Access, members: &json::Members<'_>) -> Result<Option<Bytes>, Rejection> {
    let Some(raw) = member(members, "result") else { return Ok(None) };
    let max_bytes = app.settings.limits.result_bytes;
    if raw.get().len() > max_bytes {
        let text = format!("'result' has {} bytes; at most {max_bytes} are kept", raw.get().len());
        return Err(Rejection::too_large(text).hint("Store it elsewhere and return a reference."));
    }
    Ok(Some(Bytes::copy_from_slice(raw.get().as_bytes())))
}

/// The members `error` and `requeue` of a nack.
fn failure(
    app: &Access,
    members: &json::Members<'_>,
) -> Result<(rota_engine::Failure, bool), Rejection> {
    let raw = member(members, "error").ok_or_else(|| {
        Rejection::field("error", "is required")
            .hint("Say what went wrong: {\"code\", \"message\"}.")
    })?;
    let requeue = match member(members, "requeue") {
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|_| Rejection::field("requeue", "must be true or false"))?,
        None => false,
    };
    let mut failure = failure::parse(raw, app.settings.limits.error_bytes)?;
    let present = app.present();
    failure.limited_until = failure.limited_until.map(|until| present.server_time(until));
    Ok((failure, requeue))
}

fn holder(app: &Access, members: &json::Members<'_>) -> Result<Holder, Rejection> {
    let worker = match member(members, "worker_id") {
        Some(raw) => {
            let text: String = serde_json::from_str(raw.get())
                .map_err(|_| Rejection::field("worker_id", "must be a string"))?;
            let id = WorkerId::parse(&text);
            let id = id.map_err(|e| Rejection::field("worker_id", e.to_string()))?;
            Some(app.worker(id))
        }
        None => None,
    };
    let attempt = match member(members, "attempt") {
        Some(raw) => Some(
            serde_json::from_str(raw.get())
                .map_err(|_| Rejection::field("attempt", "must be a whole number"))?,
        ),
        None => None,
    };
    Ok(Holder { worker, attempt })
}

/// Writes the answer for one settled job. Without serde, because there may be hundreds in one answer.
fn write_settled(out: &mut Vec<u8>, settled: &Settled, kind: Kind) {
    let state = settled.state.as_str();
    out.extend_from_slice(b"{\"id\":\"");
    settled.id.write(out);
    out.push(b'"');
    let mut members = Members::continued(out);
    members.id("job_id", settled.id);
    members.text("state", state);
    members.number("attempt", u64::from(settled.attempt));
    members.number("max_attempts", u64::from(settled.max_attempts));
    if kind == Kind::Ack {
        members.raw("acknowledged", b"true");
    }
    if settled.state == JobState::Discarded {
        members.time("discarded_at", settled.at);
    }
    if settled.state.is_terminal() {
        members.time("completed_at", settled.at);
    }
    if let Some((next, delay_ms)) = settled.next {
        members.time("next_attempt_at", next);
        members.time("next_retry_at", next);
        members.number("retry_delay_ms", delay_ms);
    }
    members.raw("job", b"{\"id\":\"");
    settled.id.write(out);
    out.push(b'"');
    let mut members = Members::continued(out);
    members.text("state", state);
    members.number("attempt", u64::from(settled.attempt));
    out.extend_from_slice(b"}}");
}

fn settle_error(refusal: Refusal, id: JobId) -> ApiError {
    match refusal {
        Refusal::UnknownJob => ApiError::not_found("job", &id.to_string()),
        refusal => ApiError::from(refusal).detail("job_id", id.to_string()),
    }
}

/// The error of one entry of a list, in the shape of a single job's error.
fn error_entry(error: &ApiError, id: JobId) -> Value {
    let mut value = error.body();
    value["job_id"] = json!(id.to_string());
    value["id"] = json!(id.to_string());
    value["status"] = json!(error.status().as_u16());
    value
}
