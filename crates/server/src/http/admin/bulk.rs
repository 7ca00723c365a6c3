//! Doing something to all jobs that match, a slice at a time.

use axum::extract::State;
use rota_engine::{Changed, Command, Refusal, Reply};
use rota_model::row::JobRow;
use rota_model::{JobId, Millis, Rejection, State as JobState};
use rota_store::{Order, Record, Selection};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::body::Json;
use crate::http::error::{ApiError, ApiResult};
use crate::http::filter::Filter;
use crate::http::params::PathName;
use crate::http::{App, Shared, reply};
use crate::runtime::{Answer, Unavailable};

/// Jobs changed in one commit.
const SLICE: usize = 200;
/// Rows looked at for one slice.
const SCAN: usize = 20_000;
const MOST_ERRORS: usize = 100;
/// For one slice.
const TRIES: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Retry,
    Cancel,
    Delete,
}

#[derive(Default)]
pub(super) struct Outcome {
    pub matched: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub errors: Vec<Value>,
}

#[derive(Deserialize)]
struct BulkBody {
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
}

pub(in crate::http) async fn run(State(app): Shared, name: PathName, body: Json) -> ApiResult {
    let action = match name.as_str() {
        "retry" => Action::Retry,
        "cancel" => Action::Cancel,
        "delete" => Action::Delete,
        other => {
            return Err(
                ApiError::not_found("bulk action", other).hint("One of: retry, cancel, delete.")
            );
        }
    };
    let body: BulkBody = body.parse()?;
    require_confirm(body.confirm)?;
    let filter = filter(action, body.filter)?;
    let outcome = act(&app, action, &filter, None).await?;
    Ok(reply::ok(&json!({
        "action": name.as_str(),
        "matched": outcome.matched,
        "succeeded": outcome.succeeded,
        "failed": outcome.failed,
        "errors": outcome.errors,
    })))
}

pub(super) fn require_confirm(confirm: Option<bool>) -> Result<(), ApiError> {
    if confirm == Some(true) {
        return Ok(());
    }
    Err(ApiError::invalid_request("This changes many jobs at once and needs \"confirm\": true.")
        .detail("field", "confirm")
        .hint("Look at what matches first: GET /ojs/v1/admin/jobs with the same filter."))
}

/// Acts on every job that matches now. Each slice is a commit of its own, so nothing waits long.
pub(super) async fn act(
    app: &App,
    action: Action,
    filter: &Filter,
    ended_before: Option<Millis>,
) -> Result<Outcome, ApiError> {
    let mut outcome = Outcome::default();
    let Some(mut query) = filter.query(app).await? else { return Ok(outcome) };
    // Jobs that arrive while this runs are not meant.
    let newest = app.handle.look(rota_engine::Engine::next_seq).await?;
    query.order = Order::OldestFirst;
    query.limit = SLICE;
    query.scan = SCAN;
    loop {
        let page = app.handle.list(query.clone()).await?;
        let meant = |record: &&Record| record.seq < newest && ended_early(record, ended_before);
        let ids: Vec<JobId> = page.records.iter().filter(meant).map(|r| r.body.id).collect();
        if !ids.is_empty() {
            change(app, action, ids, &mut outcome).await?;
        }
        match page.next {
            Some(next) if next < newest => query.after = Some(next),
            _ => return Ok(outcome),
        }
    }
}

fn ended_early(record: &Record, before: Option<Millis>) -> bool {
    let Some(before) = before else { return true };
    match &record.row {
        JobRow::Done(done) => done.at < before,
        JobRow::Live(_) => record.body.created < before,
    }
}

async fn change(
    app: &App,
    action: Action,
    ids: Vec<JobId>,
    outcome: &mut Outcome,
) -> Result<(), ApiError> {
    let results = send(app, action, &ids).await?;
    for (result, id) in results.into_iter().zip(ids) {
        outcome.matched += 1;
        match result {
            Ok(_) => outcome.succeeded += 1,
            // Gone meanwhile: for a deletion that is what was wanted.
            Err(Refusal::UnknownJob) if action == Action::Delete => outcome.succeeded += 1,
            Err(refusal) => {
                outcome.failed += 1;
                if outcome.errors.len() < MOST_ERRORS {
                    let text = ApiError::from(refusal).body()["error"]["message"].clone();
                    outcome.errors.push(json!({"job_id": id.to_string(), "error": text}));
                }
            }
        }
    }
    Ok(())
}

/// A slice that could not be written did not happen, and is tried again: on a full disk the first
/// failure is what makes room for the next try.
async fn send(
    app: &App,
    action: Action,
    ids: &[JobId],
) -> Result<Vec<Result<Changed, Refusal>>, ApiError> {
    let mut tries_left = TRIES;
    loop {
        let command = match action {
            Action::Retry => Command::Retry(ids.to_vec()),
            Action::Cancel => Command::Cancel(ids.to_vec()),
            Action::Delete => Command::Delete(ids.to_vec()),
        };
        tries_left -= 1;
        match app.ask(command).await {
            Answer::Reply(Reply::Changed(results)) => return Ok(results),
            Answer::Unavailable(Unavailable::NotWritten) if tries_left > 0 => {}
            answer => return Err(answer.into()),
        }
    }
}

fn filter(action: Action, body: Option<FilterBody>) -> Result<Filter, ApiError> {
    let body = body.unwrap_or_default();
    let allowed: Vec<JobState> = match action {
        Action::Retry => vec![JobState::Discarded, JobState::Cancelled],
        Action::Delete => vec![JobState::Completed, JobState::Discarded, JobState::Cancelled],
        Action::Cancel => JobState::ALL.into_iter().filter(|state| !state.is_terminal()).collect(),
    };
    let default = match action {
        // Retrying everything that was ever cancelled is hardly ever meant.
        Action::Retry => Selection::state(JobState::Discarded),
        _ => allowed.iter().fold(Selection::NONE, |select, state| select.with(*state)),
    };
    let mut filter = Filter::all(default);
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
                format!("Jobs in '{state}' cannot be acted on so."),
            )
            .hint(format!("One of: {words}.")));
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
