//! Routes for the dead letter, the jobs that have failed permanently.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use rota_engine::{Changed, Command};
use rota_model::row::JobRow;
use rota_model::{Ending, JobId};
use rota_store::Record;
use serde_json::json;

use super::error::{ApiError, ApiResult};
use super::filter::Filter;
use super::job_pages::{self, Window};
use super::params::{Params, PathName};
use super::{App, Shared, job_json, jobs, queues, reply};

pub(super) async fn list(State(app): Shared, params: Params) -> ApiResult {
    let filter = Filter::dead_letter(&params)?;
    let window = Window::from_params(&params, 50, 200)?;
    let page = job_pages::find(&app, &filter, &window).await?;
    Ok(reply::raw(StatusCode::OK, job_json::page_json(&page.records, &page.pagination)))
}

pub(super) async fn stats(State(app): Shared) -> ApiResult {
    let queues = queues::visible_queues(&app).await?;
    let mut by_queue = BTreeMap::<&str, u64>::new();
    for view in queues.iter().filter(|view| view.totals.dead_letter() > 0) {
        *by_queue.entry(view.name.local()).or_default() += view.totals.dead_letter();
    }
    let total: u64 = queues.iter().map(|view| view.totals.dead_letter()).sum();
    Ok(reply::ok(&json!({"total": total, "by_queue": by_queue, "stats": {"total": total}})))
}

pub(super) async fn show(State(app): Shared, name: PathName) -> ApiResult {
    let record = find(&app, &name).await?;
    let mut out = b"{\"job\":".to_vec();
    job_json::write_record(&mut out, &record);
    out.push(b'}');
    Ok(reply::raw(StatusCode::OK, out))
}

pub(super) async fn retry(State(app): Shared, name: PathName) -> ApiResult {
    let changed = change(&app, &name, |id| Command::Retry(vec![id])).await?;
    jobs::changed_job(&app, &changed, "re_enqueued_at").await
}

pub(super) async fn delete(State(app): Shared, name: PathName) -> ApiResult {
    let changed = change(&app, &name, |id| Command::Delete(vec![id])).await?;
    let id = changed.id.to_string();
    Ok(reply::ok(&json!({"deleted": true, "job_id": id, "id": id})))
}

/// Applies a command to a job if it is in the dead letter; any other job is not found.
async fn change(
    app: &App,
    name: &PathName,
    command: impl FnOnce(JobId) -> Command<JobId>,
) -> Result<Changed, ApiError> {
    find(app, name).await?;
    jobs::change_one(app, name, command).await
}

async fn find(app: &App, name: &PathName) -> Result<Record, ApiError> {
    let missing = || ApiError::not_found("dead letter job", name.as_str());
    let record = app.record(name.job().map_err(|_| missing())?).await?;
    let is_dead_letter = |record: &Record| match &record.row {
        JobRow::Done(done) => done.ending == Ending::DeadLetter,
        JobRow::Live(_) => false,
    };
    record.filter(is_dead_letter).ok_or_else(missing)
}
