//! Admin routes for jobs: list, show, retry.

use axum::http::StatusCode;
use rota_model::json::{Object, members};
use rota_model::row::JobRow;
use rota_store::{Record, Selection};
use serde::Serialize;
use serde_json::{Value, json};

use crate::http::access::JobsCommand;
use crate::http::body::NoBody;
use crate::http::error::{ApiError, ApiResult};
use crate::http::filter::Filter;
use crate::http::job_pages::{self, Window};
use crate::http::params::{Params, PathName};
use crate::http::{Access, job_json, jobs, queues, reply};

pub(in crate::http) async fn list(app: Access, params: Params) -> ApiResult {
    let filter = Filter::from_params(&app, &params, Selection::ALL)?;
    let window = Window::from_params(&params, 20, 100)?;
    job_pages::answer(&app, &filter, &window).await
}

pub(in crate::http) async fn show(app: Access, name: PathName) -> ApiResult {
    let record = app.record(name.job()?).await?;
    let record = record.ok_or_else(|| ApiError::not_found("job", name.as_str()))?;
    let mut job = Vec::with_capacity(record.body.json.len() + 1024);
    job_json::write_record(&mut job, &record);
    Ok(reply::raw(StatusCode::OK, with_times(&job, &record)))
}

pub(in crate::http) async fn retry(app: Access, name: PathName, _: NoBody) -> ApiResult {
    let changed = jobs::change_one(&app, &name, |id| JobsCommand::retry(vec![id])).await?;
    jobs::changed_job(&app, &changed, "re_enqueued_at").await
}

/// All times of a job; those that it does not have are null.
fn times(record: &Record) -> Value {
    let text = |time: Option<rota_model::Millis>| time.map(|time| time.to_string());
    let (enqueued, started, due, ended) = match &record.row {
        JobRow::Live(live) => {
            // An active job's timer is the end of its reservation.
            let due = live.due.filter(|_| live.state != rota_model::State::Active);
            (live.enqueued, live.started, due, None)
        }
        JobRow::Done(done) => {
            (done.enqueued, done.started, None, Some((done.ending.state(), done.at)))
        }
    };
    let ended_as = |state| ended.filter(|(ended_in, _)| *ended_in == state).map(|(_, at)| at);
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

/// The job's JSON with its times added to `metadata`.
fn with_times(job: &[u8], record: &Record) -> Vec<u8> {
    let text = String::from_utf8_lossy(job);
    let members = members(&text, "the job").unwrap_or_default();
    let mut metadata = times(record);
    let mut job = Vec::with_capacity(members.len());
    for (name, value) in members {
        match (&*name, serde_json::from_str(value.get())) {
            ("metadata", Ok(stored @ Value::Object(_))) => queues::merge(&mut metadata, &stored),
            _ => job.push((name, value)),
        }
    }
    let errors = record.errors.is_empty().then_some([]);
    let job = WithTimes { job: Object(job), errors, metadata };
    serde_json::to_vec(&job).expect("JSON can be written to memory")
}

#[derive(Serialize)]
struct WithTimes<'a> {
    #[serde(flatten)]
    job: Object<'a>,
    /// Only where the job has no errors of its own to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<[Value; 0]>,
    metadata: Value,
}
