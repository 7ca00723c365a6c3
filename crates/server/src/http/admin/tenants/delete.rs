//! Forgetting a tenant, and its jobs if that is wanted.

use axum::extract::State;
use rota_engine::{Command, Origin, Refusal, Reply};
use rota_model::{State as JobState, TenantId};
use rota_store::Selection;
use serde_json::{Value, json};

use super::change::reason;
use super::{find, unknown};
use crate::http::admin::bulk::{self, Action};
use crate::http::body::OptionalJson;
use crate::http::caller::only_operators;
use crate::http::error::{ApiError, ApiResult};
use crate::http::filter::Filter;
use crate::http::params::{Params, PathName};
use crate::http::{App, Shared, reply};
use crate::runtime::Answer;

/// How often a purge goes over the jobs again, because more have come.
const ROUNDS: usize = 5;

pub(in crate::http) async fn delete(
    State(app): Shared,
    name: PathName,
    params: Params,
    body: OptionalJson,
) -> ApiResult {
    let members = body.members()?;
    let reason = reason(&members)?;
    let said = |word: &str| {
        params.get(word) == Some("true") || members.get(word) == Some(&Value::Bool(true))
    };
    let view = find(&app, &name).await?.view;
    let id = view.id;
    only_operators("What a tenant may use")?;
    if view.origin == Origin::File {
        return Err(ApiError::conflict(
            "The tenant is configured in the settings file or in ROTA_TENANTS.",
        )
        .hint("Remove it there and restart, or PUT another configuration over it."));
    }
    let rounds = if said("purge") { ROUNDS } else { 0 };
    if rounds > 0 {
        bulk::require_confirm(Some(said("confirm")))?;
        remove_schedules(&app, &id).await?;
    }
    let mut purged = 0;
    for round in 0..=rounds {
        if rounds > 0 {
            purged += purge(&app, &id).await?;
        }
        match app.handle.command(Command::DeleteTenant(id.clone(), reason.clone())).await? {
            Reply::Tenant { .. } => break,
            Reply::Refused(Refusal::TenantHasJobs { .. }) if round < rounds => {}
            Reply::Refused(Refusal::UnknownTenant) => return Err(unknown(&name)),
            reply => return Err(Answer::Reply(reply).into()),
        }
    }
    Ok(reply::ok(&json!({"deleted": true, "tenant_id": id, "purged_jobs": purged})))
}

/// Removes what waits, so that no more of it starts, and then cancels what runs.
async fn purge(app: &App, id: &TenantId) -> Result<u64, ApiError> {
    let waiting = JobState::WAITING.into_iter().fold(Selection::NONE, Selection::with);
    let of_tenant = |select| Filter::all(select).of_tenant(id.clone());
    let removed = bulk::act(app, Action::Delete, &of_tenant(waiting), None).await?;
    let active = of_tenant(Selection::state(JobState::Active));
    let cancelled = bulk::act(app, Action::Cancel, &active, None).await?;
    Ok(removed.succeeded + cancelled.succeeded)
}

/// Schedules would bring the tenant back with their next run.
async fn remove_schedules(app: &App, id: &TenantId) -> Result<(), ApiError> {
    let tenant = id.clone();
    let crons = app.handle.look(move |engine| engine.crons_of_tenant(&tenant)).await?;
    for cron in crons {
        app.handle.command(Command::RemoveCron(cron.name)).await?;
    }
    Ok(())
}
