//! The route that deletes a tenant, with its unfinished jobs if the request says so.

use rota_engine::{Command, ConfigOrigin, Refusal, Reply, TenantChange, TenantView};
use rota_model::{TenantConfig, TenantId};
use serde_json::json;

use super::change::reason;
use super::{find, id_of, unknown};
use crate::http::admin::purge::{Doomed, Purge};
use crate::http::body::OptionalJson;
use crate::http::error::{ApiError, ApiResult};
use crate::http::filter::Filter;
use crate::http::params::{Params, PathName};
use crate::http::{Access, View, reply};
use crate::runtime::Answer;

/// Schedules per slice.
const SLICE: usize = 100;

pub(in crate::http) async fn delete(
    app: Access,
    name: PathName,
    params: Params,
    body: OptionalJson,
) -> ApiResult {
    let members = body.members(&["purge", "confirm", "reason"], "the deletion of a tenant")?;
    let reason = reason(&members)?;
    let view = match find(&app, &name).await {
        Ok(found) => found.view,
        Err(missing) => adopt(&app, &name).await?.ok_or(missing)?,
    };
    let id = view.id;
    app.operator("Deleting a tenant")?;
    if view.origin == ConfigOrigin::File {
        return Err(ApiError::conflict(
            "The tenant is configured in the settings file or in ROTA_TENANTS.",
        )
        .detail("tenant_id", id.to_string())
        .hint("Remove it there and restart, or PUT another configuration over it."));
    }
    let purge = Purge::from_request(&params, &members)?;
    if purge.is_requested() {
        remove_schedules(&app, &id).await?;
    }
    let of_tenant = |select| Filter::all(&app, select).of_tenant(id.clone());
    let doomed = Doomed::Tenant(id.clone(), reason);
    match purge.delete(&app, of_tenant, &doomed).await? {
        (Reply::Tenant { .. }, purged) => {
            Ok(reply::ok(&json!({"deleted": true, "tenant_id": id, "purged_jobs": purged})))
        }
        (Reply::Refused(Refusal::UnknownTenant), _) => Err(unknown(&name)),
        (reply, _) => Err(Answer::Reply(reply).into()),
    }
}

/// Makes a tenant known that has no jobs, but keys or schedules, so that these go with it.
async fn adopt(app: &Access, name: &PathName) -> Result<Option<TenantView>, ApiError> {
    let Ok(operator) = app.operator("Deleting a tenant") else { return Ok(None) };
    let id = id_of(app, name)?;
    let tenant = id.clone();
    let look = app.look(move |view: View<'_>| {
        let (crons, _) = view.crons_after(Some(&tenant), None, "", 0, 1);
        let (keys, _) = view.keys_after(Some(&tenant), "", 0, usize::MAX);
        !crons.is_empty() || keys.iter().any(|key| key.revoked.is_none())
    });
    if !look.await? {
        return Ok(None);
    }
    let (config, what) = (TenantConfig::default(), "delete");
    let change = TenantChange { config, what, reason: None };
    operator.command(Command::PutTenant(id, change)).await?;
    Ok(Some(find(app, name).await?.view))
}

/// Removes the tenant's schedules, whose next runs would create the tenant again.
async fn remove_schedules(app: &Access, id: &TenantId) -> Result<(), ApiError> {
    loop {
        let tenant = id.clone();
        let look = move |view: View<'_>| view.crons_after(Some(&tenant), None, "", 0, SLICE).0;
        let crons = app.look(look).await?;
        if crons.is_empty() {
            return Ok(());
        }
        for cron in crons {
            app.remove_cron(cron.name).await?;
        }
    }
}
