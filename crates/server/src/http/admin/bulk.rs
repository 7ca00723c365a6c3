//! Bulk operations: retries, cancels or deletes all jobs that match a filter, in slices.

use rota_engine::{Changed, Refusal, Reply, Selected, Unchanged};
use rota_model::row::JobRow;
use rota_model::{JobId, Millis, Rejection, State as JobState, duration};
use rota_store::{Order, Record, Selection};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::access::JobsCommand;
use crate::http::body::Json;
use crate::http::error::{ApiError, ApiResult};
use crate::http::filter::Filter;
use crate::http::params::PathName;
use crate::http::{Access, reply};
use crate::runtime::{Answer, Unavailable};
use rota_settings::CancelMode;

/// The most jobs that are changed in one commit.
const SLICE: usize = 200;
/// The most rows that are read for one slice.
const SCAN: usize = 20_000;
/// The most errors that the answer lists.
const MAX_ERRORS: usize = 100;
/// The most attempts to change one slice.
const MAX_ATTEMPTS: u32 = 3;
pub(in crate::http) const LIST_JOBS: &str = "GET /ojs/v1/admin/jobs";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Action {
    Retry,
    /// Retries jobs that are still as they were when they were selected.
    RetryOnly(Selected),
    Cancel,
    /// Cancels active jobs by asking their workers.
    RequestCancel,
    Delete,
    /// Deletes jobs that are still as they were when they were selected.
    DeleteOnly(Selected),
}

#[derive(Default)]
pub(in crate::http) struct Outcome {
    pub matched: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub errors: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BulkBody {
    #[serde(alias = "ids")]
    job_ids: Option<Vec<String>>,
    filter: Option<FilterBody>,
    confirm: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct FilterBody {
    #[serde(alias = "tenant")]
    tenant_id: Option<String>,
    queue: Option<String>,
    state: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    since: Option<String>,
    until: Option<String>,
    older_than: Option<String>,
}

impl FilterBody {
    fn is_empty(&self) -> bool {
        let conditions =
            [&self.tenant_id, &self.queue, &self.state, &self.kind, &self.since, &self.until];
        conditions.into_iter().chain([&self.older_than]).all(Option::is_none)
    }
}

pub(in crate::http) async fn run(app: Access, name: PathName, body: Json) -> ApiResult {
    let body: BulkBody = body.parse()?;
    require_confirm(body.confirm, LIST_JOBS)?;
    run_body(&app, &name, body).await
}

/// The same without `confirm`, as the specification's document on bulk operations has it. It needs the ids
/// of the jobs, or a filter with at least one condition.
pub(in crate::http) async fn run_unconfirmed(app: Access, name: PathName, body: Json) -> ApiResult {
    let body: BulkBody = body.parse()?;
    if body.job_ids.is_none() && body.filter.as_ref().is_none_or(FilterBody::is_empty) {
        return Err(Rejection::field("job_ids", "is required, or a filter that is not empty")
            .hint("Such as {\"filter\": {\"state\": \"discarded\"}}.")
            .into());
    }
    run_body(&app, &name, body).await
}

async fn run_body(app: &Access, name: &PathName, body: BulkBody) -> ApiResult {
    let action = match name.as_str() {
        "retry" => Action::Retry,
        "cancel" => match app.settings.jobs.cancel_mode {
            CancelMode::Immediate => Action::Cancel,
            CancelMode::Cooperative => Action::RequestCancel,
        },
        "delete" => Action::Delete,
        other => {
            return Err(ApiError::not_found("bulk action", other)
                .hint("Use one of: retry, cancel, delete."));
        }
    };
    let outcome = match (body.job_ids, body.filter) {
        (Some(_), Some(_)) => {
            return Err(Rejection::field("job_ids", "and 'filter' cannot both be given").into());
        }
        (Some(ids), None) => apply_to(app, action, &ids).await?,
        (None, body) => {
            let mut body = body.unwrap_or_default();
            let older_than = body.older_than.take();
            let before = older_than.map(|text| parse_older_than(app, &text)).transpose()?;
            let filter = filter(app, action, body)?;
            let action = match action {
                Action::Delete => Action::DeleteOnly(Selected::Ended(filter.state)),
                Action::Retry => {
                    let state = filter.state.unwrap_or(JobState::Discarded);
                    Action::RetryOnly(Selected::Ended(Some(state)))
                }
                action => action,
            };
            apply(app, action, &filter, before).await?
        }
    };
    let changed = match action {
        Action::Retry | Action::RetryOnly(_) => "retried",
        Action::Cancel | Action::RequestCancel => "cancelled",
        Action::Delete | Action::DeleteOnly(_) => "deleted",
    };
    let mut value = outcome.json(name.as_str());
    value[changed] = json!(outcome.succeeded);
    Ok(reply::ok(&value))
}

/// Applies an action to the jobs with these ids.
async fn apply_to(app: &Access, action: Action, ids: &[String]) -> Result<Outcome, ApiError> {
    let max_jobs = app.settings.limits.batch_jobs;
    if ids.len() > max_jobs {
        let text = format!("has {} ids; at most {max_jobs} are accepted at once", ids.len());
        return Err(Rejection::value("job_ids", text).hint("Split the list.").into());
    }
    let parse = |(i, id): (usize, &String)| {
        JobId::parse(id).map_err(|error| Rejection::field("job_ids", error.to_string()).at_index(i))
    };
    let ids: Vec<JobId> = ids.iter().enumerate().map(parse).collect::<Result<_, _>>()?;
    let mut outcome = Outcome::default();
    let by = app.look(|view| view.now()).await?;
    for slice in ids.chunks(SLICE) {
        change(app, action, by, slice.to_vec(), &mut outcome).await?;
    }
    Ok(outcome)
}

/// A time, or how long ago.
pub(super) fn parse_older_than(app: &Access, text: &str) -> Result<Millis, ApiError> {
    if let Ok(ms) = duration::parse_any(text) {
        return Ok(app.now().saturating_sub_ms(ms));
    }
    Millis::parse_rfc3339(text).map_err(|_| {
        Rejection::field("older_than", "must be a time or a duration")
            .hint("Such as \"2026-01-31T00:00:00Z\", \"7d\" or \"PT24H\".")
            .into()
    })
}

impl Outcome {
    pub fn json(&self, action: &str) -> Value {
        json!({
            "action": action,
            "matched": self.matched,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "errors": self.errors,
        })
    }
}

/// `list` is the request that lists jobs by the same filter.
pub(in crate::http) fn require_confirm(confirm: Option<bool>, list: &str) -> Result<(), ApiError> {
    if confirm == Some(true) {
        return Ok(());
    }
    Err(ApiError::invalid_request("This changes many jobs at once and needs \"confirm\": true.")
        .detail("field", "confirm")
        .hint(format!("List the matching jobs first: {list} with the same filter.")))
}

/// Applies an action to every job that matches now and, with `ended_before`, ended before that time (or
/// was created before it, if unfinished). Each slice is a separate commit, so other requests are not held
/// up.
pub(in crate::http) async fn apply(
    app: &Access,
    action: Action,
    filter: &Filter,
    ended_before: Option<Millis>,
) -> Result<Outcome, ApiError> {
    let mut outcome = Outcome::default();
    let Some(mut query) = filter.query(app).await? else { return Ok(outcome) };
    // Leaves out jobs that are enqueued while this runs.
    let (newest, by) = app.look(|view| (view.next_seq(), view.now())).await?;
    query.set_page(Order::OldestFirst, SLICE, SCAN);
    loop {
        let page = app.list(query.clone()).await?;
        let matches = |record: &&Record| record.seq < newest && is_before(record, ended_before);
        let ids: Vec<JobId> = page.records.iter().filter(matches).map(|r| r.body.id).collect();
        if !ids.is_empty() {
            change(app, action, by, ids, &mut outcome).await?;
        }
        match page.next {
            Some(next) if next < newest => query.set_after(Some(next)),
            _ => return Ok(outcome),
        }
    }
}

fn is_before(record: &Record, before: Option<Millis>) -> bool {
    let Some(before) = before else { return true };
    match &record.row {
        JobRow::Done(done) => done.at < before,
        JobRow::Live(_) => record.body.created < before,
    }
}

async fn change(
    app: &Access,
    action: Action,
    by: Millis,
    ids: Vec<JobId>,
    outcome: &mut Outcome,
) -> Result<(), ApiError> {
    let results = send(app, action, by, &ids).await?;
    for (result, id) in results.into_iter().zip(ids) {
        // Deleted meanwhile, by retention or another request.
        let by_filter = matches!(action, Action::DeleteOnly(_) | Action::RetryOnly(_));
        if by_filter && matches!(result, Err(Refusal::UnknownJob)) {
            continue;
        }
        outcome.matched += 1;
        match result {
            Ok(_) => outcome.succeeded += 1,
            // To delete a job that is gone is no error.
            Err(Refusal::UnknownJob) if action == Action::Delete => outcome.succeeded += 1,
            Err(refusal) => {
                outcome.failed += 1;
                if outcome.errors.len() < MAX_ERRORS {
                    let id = id.to_string();
                    let error = match refusal {
                        Refusal::UnknownJob => ApiError::not_found("job", &id),
                        refusal => refusal.into(),
                    };
                    outcome.errors.push(json!({"job_id": id, "error": error.message()}));
                }
            }
        }
    }
    Ok(())
}

/// Applies the action to a slice. A slice that could not be written is tried again: on a full disk, the
/// first failure releases the disk reserve, which makes room for the next attempt.
async fn send(
    app: &Access,
    action: Action,
    by: Millis,
    ids: &[JobId],
) -> Result<Vec<Result<Changed, Refusal>>, ApiError> {
    let mut attempts_left = MAX_ATTEMPTS;
    loop {
        let ids = ids.to_vec();
        let command = match action {
            Action::Retry => JobsCommand::retry(ids),
            Action::RetryOnly(selected) => JobsCommand::retry_only(ids, Unchanged { selected, by }),
            Action::Cancel => JobsCommand::cancel(ids),
            Action::RequestCancel => JobsCommand::request_cancel(ids),
            Action::Delete => JobsCommand::delete(ids),
            Action::DeleteOnly(selected) => {
                JobsCommand::delete_only(ids, Unchanged { selected, by })
            }
        };
        attempts_left -= 1;
        match app.change_jobs(command).await {
            Answer::Reply(Reply::Changed(results)) => return Ok(results),
            Answer::Unavailable(Unavailable::NotWritten) if attempts_left > 0 => {}
            answer => return Err(answer.into()),
        }
    }
}

fn filter(app: &Access, action: Action, body: FilterBody) -> Result<Filter, ApiError> {
    let allowed: Vec<JobState> = match action {
        Action::Retry | Action::RetryOnly(_) => vec![JobState::Discarded, JobState::Cancelled],
        Action::Delete | Action::DeleteOnly(_) => {
            vec![JobState::Completed, JobState::Discarded, JobState::Cancelled]
        }
        Action::Cancel | Action::RequestCancel => {
            JobState::ALL.into_iter().filter(|state| !state.is_terminal()).collect()
        }
    };
    let default = match action {
        // Retrying all cancelled jobs is rarely intended, so it must be asked for.
        Action::Retry | Action::RetryOnly(_) => Selection::state(JobState::Discarded),
        _ => allowed.iter().fold(Selection::NONE, |select, state| select.with(*state)),
    };
    let mut filter = Filter::all(app, default);
    if let Some(tenant) = &body.tenant_id {
        filter.set_tenant(tenant, "filter.tenant_id")?;
    }
    if let Some(queue) = &body.queue {
        filter.set_queue(queue)?;
    }
    if let Some(state) = &body.state {
        filter.set_state(state)?;
        if filter.state.is_some_and(|state| !allowed.contains(&state)) {
            let words = allowed.iter().map(|state| state.as_str()).collect::<Vec<_>>().join(", ");
            return Err(ApiError::validation(
                "filter.state",
                format!("This action cannot be applied to jobs in the state '{state}'."),
            )
            .hint(format!("Use one of: {words}.")));
        }
    }
    filter.kind = body.kind;
    let time = |text: Option<String>, field: &'static str| {
        text.map(|text| Millis::parse_rfc3339(&text))
            .transpose()
            .map_err(|e| Rejection::field(field, e.to_string()))
    };
    filter.since = time(body.since, "filter.since")?;
    filter.until = time(body.until, "filter.until")?;
    Ok(filter)
}
