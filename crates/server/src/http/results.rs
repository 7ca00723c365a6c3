//! The route for a job's result, which can wait until the job has ended.

use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use rota_model::row::JobRow;
use rota_model::{JobId, Millis};
use rota_store::Record;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::error::{ApiError, ApiResult};
use super::listen::client_closed;
use super::params::{Params, PathName};
use super::{Access, events, reply};

/// The longest wait, in seconds.
const MAX_WAIT: u64 = 30;

/// Waits only if the request says so, and not for a client that has closed its side of the connection. A
/// waiting request counts against the cap on event streams.
pub(super) async fn show(app: Access, name: PathName, params: Params) -> ApiResult {
    let id = name.job()?;
    let wait = seconds_to_wait(&params)?;
    let mut record = find(&app, &name, id).await?;
    if let Some(seconds) = wait.filter(|_| !record.row.state().is_terminal()) {
        let until = Instant::now() + Duration::from_secs(seconds);
        let _place = events::reserve(&app).await?;
        // Asked for before the job is read again, so that its end is not overlooked.
        let mut end = events::JobEnd::new(&app, record.seq);
        let mut closed = pin!(client_closed());
        record = find(&app, &name, id).await?;
        while !record.row.state().is_terminal() {
            let may_have_ended = tokio::select! {
                waited = tokio::time::timeout_at(until, end.wait()) => waited.is_ok(),
                () = &mut closed => false,
                error = app.credentials_ended() => return Err(error),
            };
            if !may_have_ended {
                return Err(not_yet(&record));
            }
            record = find(&app, &name, id).await?;
            if end.is_closing() && !record.row.state().is_terminal() {
                return Err(not_yet(&record));
            }
        }
    }
    Ok(answer(&record))
}

/// `?wait=true&timeout=SECONDS`, or `?wait=SECONDS`.
fn seconds_to_wait(params: &Params) -> Result<Option<u64>, ApiError> {
    let wait = params.get("wait");
    if wait != Some("true") && params.get("timeout").is_some() {
        let text = "'timeout' is how long 'wait=true' waits, and has no effect without it.";
        return Err(ApiError::invalid_request(text)
            .detail("field", "timeout")
            .hint("Send ?wait=true&timeout=SECONDS, or ?wait=SECONDS."));
    }
    match wait {
        None | Some("false") => Ok(None),
        Some("true") => params.number("timeout", 0, MAX_WAIT, MAX_WAIT).map(Some),
        Some(_) => params.number("wait", 0, MAX_WAIT, MAX_WAIT).map(Some),
    }
}

async fn find(app: &Access, name: &PathName, id: JobId) -> Result<Record, ApiError> {
    app.record(id).await?.ok_or_else(|| ApiError::not_found("job", name.as_str()))
}

fn not_yet(record: &Record) -> ApiError {
    let state = record.row.state();
    let text = format!("The job has not ended yet; its state is '{state}'.");
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", text)
        .hint("Ask again; the job goes on meanwhile.")
        .detail("current_state", state.as_str())
        .retry_after(1)
        .beside("job_id", json!(record.body.id.to_string()))
        .beside("state", json!(state.as_str()))
}

/// The state, and the result or the last error of a job that has ended.
#[derive(Serialize)]
struct Outcome<'a> {
    job_id: String,
    state: &'static str,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    completed_at: Option<String>,
    result_stored_at: Option<String>,
    result_expires_at: Option<String>,
    result_size_bytes: Option<usize>,
}

fn answer(record: &Record) -> Response<Body> {
    let ended = match &record.row {
        JobRow::Done(done) => Some(done),
        JobRow::Live(_) => None,
    };
    let result = ended.and_then(|done| done.result.as_ref());
    let with_result = ended.filter(|_| result.is_some());
    let time = |time: Millis| time.to_string();
    let parse = |json| serde_json::from_slice::<&RawValue>(json).ok();
    let error = record.errors.last().filter(|_| ended.is_some() && result.is_none());
    reply::ok(&Outcome {
        job_id: record.body.id.to_string(),
        state: record.row.state().as_str(),
        result: result.and_then(|json| parse(json)),
        error: error.and_then(|json| parse(json)),
        completed_at: ended.map(|done| time(done.at)),
        result_stored_at: with_result.map(|done| time(done.at)),
        result_expires_at: with_result.and_then(|done| done.purge_at).map(time),
        result_size_bytes: result.map(bytes::Bytes::len),
    })
}
