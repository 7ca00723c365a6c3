//! Deletes a queue or tenant together with its unfinished jobs, if the request says `purge`.

use rota_engine::{Command, Refusal, Reply, Selected};
use rota_model::{QueueName, State as JobState, TenantId};
use rota_store::Selection;
use serde_json::{Map, Value};

use super::bulk::{self, Action};
use crate::http::Access;
use crate::http::error::ApiError;
use crate::http::filter::Filter;
use crate::http::params::Params;

/// How often a purge is repeated when more jobs have been enqueued meanwhile.
const MAX_REPEATS: usize = 5;

/// What is to be deleted.
pub(super) enum Doomed {
    /// By the engine's name.
    Queue(QueueName),
    /// With the reason that is given for it.
    Tenant(TenantId, Option<String>),
}

impl Doomed {
    async fn delete(&self, app: &Access) -> Result<Reply, ApiError> {
        match self {
            Self::Queue(name) => app.delete_queue(name.clone()).await,
            Self::Tenant(id, reason) => {
                let command = Command::DeleteTenant(id.clone(), reason.clone());
                Ok(app.operator("Deleting a tenant")?.command(command).await?)
            }
        }
    }
}

/// Whether unfinished jobs are to be removed: `purge`, with `confirm`, in the query string or the body.
pub(super) struct Purge(bool);

impl Purge {
    pub fn from_request(params: &Params, members: &Map<String, Value>) -> Result<Self, ApiError> {
        let purge = flag(params, members, "purge")?;
        if purge {
            bulk::require_confirm(Some(flag(params, members, "confirm")?), bulk::LIST_JOBS)?;
        }
        Ok(Self(purge))
    }

    pub fn is_requested(&self) -> bool {
        self.0
    }

    /// Removes the unfinished jobs, if requested, and then applies the deletion. Returns the reply and
    /// the number of jobs that were deleted or cancelled.
    pub async fn delete(
        &self,
        app: &Access,
        jobs: impl Fn(Selection) -> Filter,
        what: &Doomed,
    ) -> Result<(Reply, u64), ApiError> {
        let mut repeats_left = if self.0 { MAX_REPEATS } else { 0 };
        let mut purged = 0;
        loop {
            if self.0 {
                purged += remove_unfinished(app, &jobs).await?;
            }
            let reply = what.delete(app).await?;
            let has_jobs = matches!(
                reply,
                Reply::Refused(Refusal::TenantHasJobs { .. } | Refusal::QueueHasJobs { .. })
            );
            if !has_jobs || repeats_left == 0 {
                return Ok((reply, purged));
            }
            repeats_left -= 1;
        }
    }
}

/// A flag in the query string or the body. If it is in both, they must agree.
fn flag(params: &Params, members: &Map<String, Value>, name: &str) -> Result<bool, ApiError> {
    let invalid = || {
        ApiError::invalid_request(format!("'{name}' must be true or false.")).detail("field", name)
    };
    let in_query = match params.get(name) {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => return Err(invalid()),
    };
    let in_body = match members.get(name) {
        None => None,
        Some(Value::Bool(value)) => Some(*value),
        Some(_) => return Err(invalid()),
    };
    if in_query.is_some() && in_body.is_some() && in_query != in_body {
        let text = format!("'{name}' differs between the query string and the body.");
        return Err(ApiError::invalid_request(text).detail("field", name));
    }
    Ok(in_query.or(in_body).unwrap_or(false))
}

/// Deletes waiting jobs first, so that no more of them start, and then cancels active ones.
async fn remove_unfinished(
    app: &Access,
    jobs: &impl Fn(Selection) -> Filter,
) -> Result<u64, ApiError> {
    let waiting = JobState::WAITING.into_iter().fold(Selection::NONE, Selection::with);
    let deleted =
        bulk::apply(app, Action::DeleteOnly(Selected::Waiting), &jobs(waiting), None).await?;
    let active = jobs(Selection::state(JobState::Active));
    let cancelled = bulk::apply(app, Action::Cancel, &active, None).await?;
    Ok(deleted.succeeded + cancelled.succeeded)
}
