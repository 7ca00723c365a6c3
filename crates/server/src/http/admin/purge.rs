//! Deletions that may take living jobs with them.

use rota_engine::{Command, Refusal, Reply};
use rota_model::JobId;
use rota_model::State as JobState;
use rota_store::Selection;
use serde_json::{Map, Value};

use super::bulk::{self, Action};
use crate::http::App;
use crate::http::error::ApiError;
use crate::http::filter::Filter;
use crate::http::params::Params;

/// How often a purge goes over the jobs again, because more have come.
const ROUNDS: usize = 5;

/// Whether living jobs are to go too: `purge`, with `confirm`, in the query string or the body.
pub(super) struct Purge(bool);

impl Purge {
    pub fn of(params: &Params, members: &Map<String, Value>) -> Result<Self, ApiError> {
        let wanted = given(params, members, "purge")?;
        if wanted {
            bulk::require_confirm(Some(given(params, members, "confirm")?))?;
        }
        Ok(Self(wanted))
    }

    pub fn is_wanted(&self) -> bool {
        self.0
    }

    /// Applies the command, after removing the living jobs if that is wanted. Gives the answer, and
    /// how many jobs were removed or cancelled.
    pub async fn before(
        &self,
        app: &App,
        jobs: impl Fn(Selection) -> Filter,
        command: impl Fn() -> Command<JobId>,
    ) -> Result<(Reply, u64), ApiError> {
        let rounds = if self.0 { ROUNDS } else { 0 };
        let (mut purged, mut round) = (0, 0);
        loop {
            if self.0 {
                purged += remove_living(app, &jobs).await?;
            }
            let reply = app.handle.command(command()).await?;
            let busy = matches!(
                reply,
                Reply::Refused(Refusal::TenantHasJobs { .. } | Refusal::QueueHasJobs { .. })
            );
            if !busy || round == rounds {
                return Ok((reply, purged));
            }
            round += 1;
        }
    }
}

/// A word that may stand in the query string or the body. If it stands in both, they must agree.
fn given(params: &Params, members: &Map<String, Value>, name: &str) -> Result<bool, ApiError> {
    let wrong = || ApiError::invalid_request(format!("'{name}' must be true or false."));
    let asked = match params.get(name) {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => return Err(wrong()),
    };
    let said = match members.get(name) {
        None => None,
        Some(Value::Bool(said)) => Some(*said),
        Some(_) => return Err(wrong()),
    };
    if asked.is_some() && said.is_some() && asked != said {
        let both = format!("'{name}' differs between the query string and the body.");
        return Err(ApiError::invalid_request(both));
    }
    Ok(asked.or(said).unwrap_or(false))
}

/// Removes what waits, so that no more of it starts, and then cancels what runs.
async fn remove_living(app: &App, jobs: &impl Fn(Selection) -> Filter) -> Result<u64, ApiError> {
    let waiting = JobState::WAITING.into_iter().fold(Selection::NONE, Selection::with);
    let removed = bulk::act(app, Action::Delete, &jobs(waiting), None).await?;
    let active = jobs(Selection::state(JobState::Active));
    let cancelled = bulk::act(app, Action::Cancel, &active, None).await?;
    Ok(removed.succeeded + cancelled.succeeded)
}
