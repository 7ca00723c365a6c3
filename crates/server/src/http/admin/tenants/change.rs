//! Routes that change a tenant: replace or merge its configuration, release its throttle.

use axum::http::StatusCode;
use rota_engine::{Command, Refusal, Reply, TenantChange, TenantView};
use rota_model::{Rejection, TenantConfig, TenantId};
use serde_json::{Map, Value};

use super::{id_of, json, shards, unknown};
use crate::http::body::{Json, OptionalJson};
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::PathName;
use crate::http::{Access, reply};
use crate::runtime::Answer;

/// What a tenant may not do.
const CHANGE: &str = "Changing a tenant";
const MAX_REASON_BYTES: usize = 1_000;

/// Replaces the tenant's configuration.
pub(in crate::http) async fn put(app: Access, name: PathName, body: Json) -> ApiResult {
    let (id, members) = (id_to_change(&app, &name)?, body.object()?);
    check_same_tenant(&id, &members)?;
    let mut config = TenantConfig::default();
    config.merge(&members)?;
    let change = TenantChange { config, what: "put", reason: reason(&members)? };
    let _guard = app.tenant_changes.lock().await;
    let (view, created) = send(&app, id, change).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    answer(&app, status, view).await
}

/// Changes the members that are given, and leaves the others.
pub(in crate::http) async fn merge(app: Access, name: PathName, body: Json) -> ApiResult {
    let (id, members) = (id_to_change(&app, &name)?, body.object()?);
    check_same_tenant(&id, &members)?;
    let reason = reason(&members)?;
    // No other request may change the tenant between the read and the write.
    let _guard = app.tenant_changes.lock().await;
    let tenant = id.clone();
    let config = app.look(move |view| view.tenant(&tenant).map(|view| view.config));
    let mut config = config.await?.unwrap_or_default();
    config.merge(&members)?;
    let (view, _) = send(&app, id, TenantChange { config, what: "limits", reason }).await?;
    answer(&app, StatusCode::OK, view).await
}

/// Ends an automatic throttle.
pub(in crate::http) async fn release(app: Access, name: PathName, body: OptionalJson) -> ApiResult {
    let members = body.members(&["reason"], "the end of a throttle")?;
    let command = Command::ReleaseTenant(id_to_change(&app, &name)?, reason(&members)?);
    match app.operator(CHANGE)?.command(command).await? {
        Reply::Tenant { tenant, .. } => answer(&app, StatusCode::OK, *tenant).await,
        Reply::Refused(Refusal::UnknownTenant) => Err(unknown(&name)),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// The member `reason`, which is stored with the change.
pub(super) fn reason(members: &Map<String, Value>) -> Result<Option<String>, Rejection> {
    match members.get("reason") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_REASON_BYTES => Ok(Some(text.clone())),
        Some(_) => {
            let text = format!("must be a string of at most {MAX_REASON_BYTES} bytes");
            Err(Rejection::field("reason", text))
        }
    }
}

/// The id of the tenant in the path, which need not exist yet. Only operators may change tenants.
fn id_to_change(app: &Access, name: &PathName) -> Result<TenantId, ApiError> {
    TenantId::parse(name.as_str()).map_err(|error| {
        ApiError::invalid_request(format!("The tenant's id {error}.")).detail("field", "tenant_id")
    })?;
    let id = id_of(app, name)?;
    app.operator(CHANGE)?;
    Ok(id)
}

fn check_same_tenant(id: &TenantId, members: &Map<String, Value>) -> Result<(), ApiError> {
    match members.get("tenant_id") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(given)) if **given == **id => Ok(()),
        Some(_) => Err(Rejection::field("tenant_id", "differs from the tenant in the path")
            .hint("Leave it out of the body.")
            .into()),
    }
}

async fn send(
    app: &Access,
    id: TenantId,
    change: TenantChange,
) -> Result<(TenantView, bool), ApiError> {
    match app.operator(CHANGE)?.command(Command::PutTenant(id, change)).await? {
        Reply::Tenant { tenant, created } => Ok((*tenant, created)),
        reply => Err(Answer::Reply(reply).into()),
    }
}

async fn answer(app: &Access, status: StatusCode, view: TenantView) -> ApiResult {
    let id = view.id.clone();
    let totals = app.look(move |view| view.totals_of_tenant(&id)).await?;
    let shards = shards(app, &view).await?;
    Ok(reply::json(status, &json::details(&view, &totals, &shards)))
}
