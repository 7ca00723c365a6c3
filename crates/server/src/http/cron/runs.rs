//! Routes for the runs of a cron job: start one now, and the last ones.

use std::collections::HashMap;

use axum::http::StatusCode;
use rota_engine::{CronExecution, Refusal, Reply};
use rota_model::Seq;
use rota_store::{JobRow, Record};
use serde_json::{Value, json};

use super::{Shown, find};
use crate::http::body::NoBody;
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::{Params, PathName};
use crate::http::{Access, job_json, reply};
use crate::runtime::Answer;

/// The most executions in one answer; the engine remembers no more than this.
const MAX_SHOWN: u64 = 100;

/// Starts a run at once, enabled or not.
pub(super) async fn trigger(app: Access, name: PathName, params: Params, _: NoBody) -> ApiResult {
    let found = find(&app, &name, &params).await?;
    app.check_queue_and_type(&found.queue, &found.kind)?;
    match app.trigger_cron(found.name, found.shown.len()).await? {
        Reply::Triggered { cron, job } => {
            let mut written = Vec::new();
            job_json::write_accepted(&mut written, &job);
            let written: Value = serde_json::from_slice(&written).unwrap_or_default();
            let shown = Shown::new(&cron);
            Ok(reply::json(
                StatusCode::CREATED,
                &json!({
                    "job_id": job.id.to_string(),
                    "triggered_at": job.created.to_string(),
                    "job": written,
                    "name": cron.name.local(),
                    "cron": shown,
                    "cron_job": shown,
                }),
            ))
        }
        Reply::Refused(Refusal::UnknownCron) => Err(ApiError::not_found("cron job", name.as_str())),
        Reply::Refused(Refusal::RunUnfinished { run }) => {
            let error = ApiError::from(Refusal::RunUnfinished { run });
            let record = app.records(vec![run], usize::MAX).await?.pop().flatten();
            Err(match record {
                Some(record) => error.detail("job_id", record.body.id.to_string()),
                None => error,
            })
        }
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// The last executions, newest first: runs with their jobs, and times that were skipped.
pub(super) async fn history(app: Access, name: PathName, params: Params) -> ApiResult {
    let limit = params.page_size(20, MAX_SHOWN)? as usize;
    let page = params.number("page", 1, MAX_SHOWN, 1)? as usize;
    let cron = find(&app, &name, &params).await?;
    let full_name = cron.name.clone();
    let all = app.look(move |engine| engine.cron_history(&full_name)).await?;
    let skipped = (page - 1) * limit;
    let shown: Vec<&CronExecution> = all.iter().skip(skipped).take(limit).collect();
    let rows = rows(&app, &shown).await?;
    let executions: Vec<Value> = shown.iter().map(|run| execution(run, &rows)).collect();
    let pagination = json!({
        "total": all.len(),
        "page": page,
        "per_page": limit,
        "has_more": all.len() > skipped + shown.len(),
    });
    Ok(reply::ok(&json!({
        "name": cron.name.local(),
        "executions": executions,
        "items": executions,
        "count": executions.len(),
        "pagination": pagination,
    })))
}

/// The states of these executions' jobs, as far as they have not been deleted.
async fn rows(
    app: &Access,
    executions: &[&CronExecution],
) -> Result<HashMap<Seq, JobRow>, ApiError> {
    let jobs = executions.iter().filter_map(|run| run.job.as_ref());
    let seqs: Vec<Seq> = jobs.map(|job| job.seq()).collect();
    let mut rows = HashMap::new();
    let note = |record: Record| drop(rows.insert(record.seq, record.row));
    app.each_record(&seqs, note).await?;
    Ok(rows)
}

fn execution(run: &CronExecution, rows: &HashMap<Seq, JobRow>) -> Value {
    let row = run.job.as_ref().and_then(|job| rows.get(&job.seq()));
    let (started, ended) = match row {
        Some(JobRow::Live(live)) => (live.started, None),
        Some(JobRow::Done(done)) => (done.started, Some(done.at)),
        None => (None, None),
    };
    let state = match (&run.skipped, row) {
        (Some(_), _) => "skipped",
        (None, Some(row)) => row.state().as_str(),
        (None, None) => "deleted",
    };
    json!({
        "job_id": run.job.as_ref().map(|job| &job.id),
        "state": state,
        "reason": run.skipped,
        "trigger": if run.by_request { "manual" } else { "schedule" },
        "scheduled_at": run.scheduled_for.to_string(),
        "started_at": started.map(|time| time.to_string()),
        "completed_at": ended.map(|time| time.to_string()),
    })
}
