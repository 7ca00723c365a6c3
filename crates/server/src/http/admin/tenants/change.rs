//! Saying something about a tenant.

use axum::extract::State;
use axum::http::StatusCode;
use rota_engine::{Command, Refusal, Reply, TenantChange, TenantView};
use rota_model::{Rejection, TenantConfig, TenantId};
use serde_json::{Map, Value};

use super::{id_of, json, shards, unknown};
use crate::http::body::{Json, OptionalJson};
use crate::http::caller::only_operators;
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::PathName;
use crate::http::{App, Shared, reply};
use crate::runtime::Answer;

const LONGEST_REASON: usize = 1_000;

/// Replaces all that was said.
pub(in crate::http) async fn put(State(app): Shared, name: PathName, body: Json) -> ApiResult {
    let (id, members) = (changeable(&name)?, body.object()?);
    same_tenant(&id, &members)?;
    let mut config = TenantConfig::default();
    config.merge(&members)?;
    let change = TenantChange { config, what: "put", reason: reason(&members)? };
    let _turn = app.tenant_changes.lock().await;
    let (view, created) = send(&app, id, change).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    answer(&app, status, view).await
}

/// Changes what is given, and leaves the rest.
pub(in crate::http) async fn merge(State(app): Shared, name: PathName, body: Json) -> ApiResult {
    let (id, members) = (changeable(&name)?, body.object()?);
    same_tenant(&id, &members)?;
    let reason = reason(&members)?;
    // Nobody else may change it between the look and the change.
    let _turn = app.tenant_changes.lock().await;
    let known = id.clone();
    let config = app.handle.look(move |engine| engine.tenant(&known).map(|view| view.config));
    let mut config = config.await?.unwrap_or_default();
    config.merge(&members)?;
    let (view, _) = send(&app, id, TenantChange { config, what: "limits", reason }).await?;
    answer(&app, StatusCode::OK, view).await
}

/// Ends an automatic throttle.
pub(in crate::http) async fn release(
    State(app): Shared,
    name: PathName,
    body: OptionalJson,
) -> ApiResult {
    let members = body.members()?;
    let command = Command::ReleaseTenant(changeable(&name)?, reason(&members)?);
    match app.handle.command(command).await? {
        Reply::Tenant { tenant, .. } => answer(&app, StatusCode::OK, *tenant).await,
        Reply::Refused(Refusal::UnknownTenant) => Err(unknown(&name)),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// Why something is done, for those who read the changes later.
pub(super) fn reason(members: &Map<String, Value>) -> Result<Option<String>, Rejection> {
    match members.get("reason") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= LONGEST_REASON => Ok(Some(text.clone())),
        Some(_) => {
            let text = format!("must be a text of at most {LONGEST_REASON} bytes");
            Err(Rejection::field("reason", text))
        }
    }
}

/// A tenant that may not exist yet. What it is entitled to is not for itself to say.
fn changeable(name: &PathName) -> Result<TenantId, ApiError> {
    TenantId::parse(name.as_str()).map_err(|error| {
        ApiError::invalid_request(format!("The tenant's id {error}.")).detail("field", "tenant_id")
    })?;
    let id = id_of(name)?;
    only_operators("What a tenant may use")?;
    Ok(id)
}

fn same_tenant(id: &TenantId, members: &Map<String, Value>) -> Result<(), ApiError> {
    match members.get("tenant_id") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(given)) if **given == **id => Ok(()),
        Some(_) => Err(Rejection::field("tenant_id", "is not the tenant of the address")
            .hint("Leave it out of the body.")
            .into()),
    }
}

async fn send(
    app: &App,
    id: TenantId,
    change: TenantChange,
) -> Result<(TenantView, bool), ApiError> {
    match app.handle.command(Command::PutTenant(id, change)).await? {
        Reply::Tenant { tenant, created } => Ok((*tenant, created)),
        reply => Err(Answer::Reply(reply).into()),
    }
}

async fn answer(app: &App, status: StatusCode, view: TenantView) -> ApiResult {
    let id = view.id.clone();
    let totals = app.handle.look(move |engine| engine.totals_of_tenant(&id)).await?;
    let shards = shards(app, &view).await?;
    Ok(reply::json(status, &json::whole(&view, &totals, &shards)))
}
