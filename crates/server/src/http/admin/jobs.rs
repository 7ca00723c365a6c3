//! Single jobs, as an operator sees them.

use axum::extract::State;
use axum::http::StatusCode;
use rota_model::row::Place;
use rota_store::{Record, Selection};
use serde_json::{Value, json};

use crate::http::error::{ApiError, ApiResult};
use crate::http::page::{self, Filter, Window};
use crate::http::params::{Params, PathName};
use crate::http::{Shared, dead_letter, job_json, jobs, reply};
use crate::runtime::Ask;

pub(in crate::http) async fn list(State(app): Shared, params: Params) -> ApiResult {
    let filter = Filter::from_params(&params, Selection::ALL)?;
    let window = Window::from_params(&params, "per_page", 20, 100)?;
    let found = page::find(&app, &filter, &window).await?;
    Ok(reply::raw(StatusCode::OK, dead_letter::listing("items", &found.records, &found.pagination)))
}

pub(in crate::http) async fn show(State(app): Shared, name: PathName) -> ApiResult {
    let record = app.handle.record(name.job()?).await?;
    let record = record.ok_or_else(|| ApiError::not_found("job", name.as_str()))?;
    let mut out = Vec::with_capacity(record.body.json.len() + 1024);
    job_json::write_record(&mut out, &record);
    out.pop();
    let mut members = job_json::Members::after_body(&mut out, b"");
    members.raw("metadata", times(&record).to_string().as_bytes());
    if record.errors.is_empty() {
        members.raw("errors", b"[]");
    }
    out.push(b'}');
    Ok(reply::raw(StatusCode::OK, dedup_metadata(out)))
}

pub(in crate::http) async fn retry(State(app): Shared, name: PathName) -> ApiResult {
    let changed = jobs::change_one(&app, &name, |id| Ask::Retry(vec![id])).await?;
    jobs::changed_job(&app, &changed, "re_enqueued_at").await
}

/// All times of a job in one place, the missing ones as null.
fn times(record: &Record) -> Value {
    let text = |at: Option<rota_model::Millis>| at.map(|at| at.to_string());
    let (enqueued, started, due, ended) = match &record.place {
        Place::Live(live) => (live.enqueued, live.started, live.due, None),
        Place::Done(done) => {
            (done.enqueued, done.started, None, Some((done.ending.state(), done.at)))
        }
    };
    let ended_as = |state| ended.filter(|(was, _)| *was == state).map(|(_, at)| at);
    json!({
        "created_at": record.body.created.to_string(),
        "enqueued_at": enqueued.to_string(),
        "started_at": text(started),
        "scheduled_at": text(due),
        "completed_at": text(ended_as(rota_model::State::Completed)),
        "cancelled_at": text(ended_as(rota_model::State::Cancelled)),
        "discarded_at": text(ended_as(rota_model::State::Discarded)),
    })
}

/// A run of a schedule has `metadata` of its own; the two become one.
fn dedup_metadata(json: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8_lossy(&json);
    let Ok(members) = rota_model::json::members(&text, "the job") else {
        return merge_metadata(&json);
    };
    drop(members);
    json
}

fn merge_metadata(json: &[u8]) -> Vec<u8> {
    // The last of two equal keys wins in serde_json, and that is the one with the times.
    let value: Value = serde_json::from_slice(json).unwrap_or_default();
    value.to_string().into_bytes()
}
