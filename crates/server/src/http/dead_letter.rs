//! Routes for the dead letter, the jobs that have failed permanently.

use axum::http::StatusCode;
use rota_engine::{Selected, Unchanged};
use rota_model::Ending;
use rota_model::row::JobRow;
use rota_store::Record;
use serde_json::json;

use super::access::JobsCommand;
use super::body::NoBody;
use super::body::OptionalJson;
use super::error::{ApiError, ApiResult};
use super::filter::Filter;
use super::job_pages::{self, Window};
use super::params::{Params, PathName};
use super::{Access, dead_letter_override, job_json, jobs, reply};

pub(super) async fn list(app: Access, params: Params) -> ApiResult {
    let filter = Filter::dead_letter(&app, &params)?;
    let window = Window::from_params(&params, 50, 200)?;
    job_pages::answer(&app, &filter, &window).await
}

pub(super) async fn show(app: Access, name: PathName) -> ApiResult {
    let record = find(&app, &name).await?;
    let mut out = Vec::with_capacity(2 * record.body.json.len() + 1024);
    job_json::write_flat_and_wrapped(&mut out, |out| job_json::write_record(out, &record));
    out.push(b'}');
    Ok(reply::raw(StatusCode::OK, out))
}

/// Retries a job, as it is or with some members overridden.
pub(super) async fn retry(app: Access, name: PathName, body: OptionalJson) -> ApiResult {
    let record = find(&app, &name).await?;
    let changed = match dead_letter_override::parse(body.get())? {
        None => {
            let retry = |id| JobsCommand::retry_only(vec![id], unchanged(&record));
            jobs::change_one(&app, &name, retry).await?
        }
        Some(changes) => {
            let missing = || ApiError::not_found("dead letter job", name.as_str());
            let owner = app.owner_of(&record).await?.ok_or_else(missing)?;
            let change = dead_letter_override::apply(&app, &record, &owner, &changes)?;
            app.check_class(&change.class)?;
            let retry = |id| JobsCommand::retry_as(id, change);
            jobs::change_one(&app, &name, retry).await?
        }
    };
    jobs::changed_job(&app, &changed, "re_enqueued_at").await
}

pub(super) async fn delete(app: Access, name: PathName, _: NoBody) -> ApiResult {
    let unchanged = unchanged(&find(&app, &name).await?);
    let delete = |id| JobsCommand::delete_only(vec![id], unchanged);
    let changed = jobs::change_one(&app, &name, delete).await?;
    let id = changed.id.to_string();
    Ok(reply::ok(&json!({"deleted": true, "job_id": id, "id": id})))
}

/// The job is in the dead letter as it was read.
fn unchanged(record: &Record) -> Unchanged {
    let by = match &record.row {
        JobRow::Done(done) => done.at,
        JobRow::Live(live) => live.enqueued,
    };
    Unchanged { selected: Selected::DeadLetter, by }
}

async fn find(app: &Access, name: &PathName) -> Result<Record, ApiError> {
    let missing = || ApiError::not_found("dead letter job", name.as_str());
    let record = app.record(name.job().map_err(|_| missing())?).await?;
    let is_dead_letter = |record: &Record| match &record.row {
        JobRow::Done(done) => done.ending == Ending::DeadLetter,
        JobRow::Live(_) => false,
    };
    record.filter(is_dead_letter).ok_or_else(missing)
}
