//! Routes for rate limits, by key, by queue and by job type.

mod check_target;
mod edit;
mod json;
mod list;

use rota_engine::{LimitView, Refusal, Reply};
use rota_model::{JobType, LimitKey, QueueName, TenantId};
use serde_json::Value;

use super::body::Json;
use super::error::{ApiError, ApiResult};
use super::params::{Params, PathName};
use super::{Access, reply};
use crate::http::body::NoBody;
use crate::runtime::Answer;

pub(super) use edit::{LimitEdit, join_limit_and_period};
pub(super) use json::numbers as numbers_json;
pub(super) use list::list;

/// Subjects of the message to a tenant that may not change a limit.
const CHANGE_QUEUE_LIMIT: &str = "Changing the limit of a queue";
const CHANGE_TYPE_LIMIT: &str = "Changing the limit of a job type";
/// The most partitions of a key that are shown with it.
const MAX_PARTITIONS: usize = 1_000;

/// The limit that a request is about: a key, or one tenant's partition of it.
struct Target {
    key: LimitKey,
    tenant: Option<TenantId>,
}

pub(super) async fn show(app: Access, name: PathName, params: Params) -> ApiResult {
    let target = find_target(&app, parse_key(&name)?, tenant(&app, &params, &name)?).await?;
    answer(&app, &target).await
}

pub(super) async fn put(app: Access, name: PathName, params: Params, body: Json) -> ApiResult {
    let key = LimitKey::parse(name.as_str())
        .map_err(|e| ApiError::invalid_request(format!("The key {e}.")).detail("field", "key"))?;
    let tenant = tenant(&app, &params, &name)?;
    let edit = LimitEdit::parse(&body, &key, app.present())?;
    let target = check_target::check_target(&app, Target { key, tenant }, &edit).await?;
    put_limit(&app, target, edit).await
}

pub(super) async fn clear(app: Access, name: PathName, params: Params, _: NoBody) -> ApiResult {
    let target = find_target(&app, parse_key(&name)?, tenant(&app, &params, &name)?).await?;
    clear_limit(&app, target).await
}

pub(super) async fn show_queue(app: Access, name: PathName) -> ApiResult {
    let target = queue_target(&app, &name)?;
    answer(&app, &target).await
}

pub(super) async fn put_queue(app: Access, name: PathName, body: Json) -> ApiResult {
    let target = queue_target(&app, &name)?;
    app.operator_if_shared(CHANGE_QUEUE_LIMIT)?;
    let edit = LimitEdit::parse(&body, &target.key.local(), app.present())?;
    put_limit(&app, target, edit).await
}

pub(super) async fn clear_queue(app: Access, name: PathName, _: NoBody) -> ApiResult {
    let target = queue_target(&app, &name)?;
    app.operator_if_shared(CHANGE_QUEUE_LIMIT)?;
    clear_limit(&app, target).await
}

pub(super) async fn show_type(app: Access, name: PathName) -> ApiResult {
    answer(&app, &type_target(&name)?).await
}

pub(super) async fn put_type(app: Access, name: PathName, body: Json) -> ApiResult {
    app.operator(CHANGE_TYPE_LIMIT)?;
    let target = type_target(&name)?;
    let edit = LimitEdit::parse(&body, &target.key, app.present())?;
    put_limit(&app, target, edit).await
}

pub(super) async fn clear_type(app: Access, name: PathName, _: NoBody) -> ApiResult {
    app.operator(CHANGE_TYPE_LIMIT)?;
    clear_limit(&app, type_target(&name)?).await
}

/// The current state of a limit, if it exists.
pub(super) async fn look(
    app: &Access,
    key: LimitKey,
    tenant: Option<TenantId>,
) -> Result<Option<LimitView>, ApiError> {
    Ok(app.look(move |view| view.limit(&key, tenant.as_ref())).await?)
}

/// The error for a limit that does not exist; it shows the key as the caller named it.
fn unknown(target: &Target) -> ApiError {
    ApiError::not_found("rate limit", &target.key.local())
}

async fn answer(app: &Access, target: &Target) -> ApiResult {
    let view = look(app, target.key.clone(), target.tenant.clone()).await?;
    // A limit that an operator has declared for all tenants applies to the caller's jobs too.
    let view = match view {
        None if target.tenant.is_some() && !app.is_operator() => {
            let shared = look(app, target.key.clone(), None).await?;
            shared.filter(|view| view.declared.is_some())
        }
        found => found,
    };
    let partitions = match target.tenant {
        Some(_) => Vec::new(),
        None => partitions_of(app, &target.key).await?,
    };
    match (view, partitions.is_empty()) {
        (None, true) => Err(unknown(target)),
        (Some(view), true) => Ok(reply::ok(&json::partition(&view))),
        (view, false) => {
            Ok(reply::ok(&json::with_partitions(&target.key, view.as_ref(), &partitions)))
        }
    }
}

async fn put_limit(app: &Access, target: Target, edit: LimitEdit) -> ApiResult {
    if edit.only_removes() && look(app, target.key.clone(), target.tenant.clone()).await?.is_none()
    {
        return Err(unknown(&target));
    }
    let put = edit.for_limit(target.key, target.tenant);
    let view = changed(app.put_limit(put).await?)?;
    Ok(reply::ok(&json::partition(&view)))
}

/// The limit in the reply to a change.
pub(super) fn changed(reply: Reply) -> Result<LimitView, ApiError> {
    match reply {
        Reply::Limit(view) => Ok(*view),
        reply => Err(Answer::Reply(reply).into()),
    }
}

async fn clear_limit(app: &Access, target: Target) -> ApiResult {
    match app.clear_limit(target.key.clone(), target.tenant.clone()).await? {
        Reply::Limit(view) => Ok(reply::ok(&json::partition(&view))),
        Reply::Refused(Refusal::UnknownLimit) => Err(unknown(&target)),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// The tenants' partitions of a key.
async fn partitions_of(app: &Access, key: &LimitKey) -> Result<Vec<Value>, ApiError> {
    let key = key.clone();
    let look = app.look(move |view| view.parts_of_limit(&key, MAX_PARTITIONS));
    Ok(look.await?.iter().map(json::partition).collect())
}

/// The tenant whose partition is meant: the caller, or the one that an operator names.
fn tenant(app: &Access, params: &Params, name: &PathName) -> Result<Option<TenantId>, ApiError> {
    let unknown = || ApiError::not_found("rate limit", name.as_str());
    app.tenant_or(params.tenant()?).ok_or_else(unknown)
}

fn parse_key(name: &PathName) -> Result<LimitKey, ApiError> {
    LimitKey::parse(name.as_str()).map_err(|_| ApiError::not_found("rate limit", name.as_str()))
}

/// The limit that a key names. Under namespace isolation, the limit of the tenant's own queue has
/// precedence over a partition of the same key.
async fn find_target(
    app: &Access,
    key: LimitKey,
    tenant: Option<TenantId>,
) -> Result<Target, ApiError> {
    if let Some(target) = own_queue_target(app, &key, tenant.as_ref())
        && look(app, target.key.clone(), None).await?.is_some()
    {
        return Ok(target);
    }
    Ok(Target { key, tenant })
}

/// The limit of the tenant's own queue, for a `queue:` key under namespace isolation.
fn own_queue_target(app: &Access, key: &LimitKey, tenant: Option<&TenantId>) -> Option<Target> {
    let tenant = tenant.filter(|_| app.is_namespaced())?;
    let queue = QueueName::parse(key.strip_prefix("queue:")?).ok()?;
    Some(Target { key: LimitKey::of_queue(&queue.in_namespace(tenant)), tenant: None })
}

fn queue_target(app: &Access, name: &PathName) -> Result<Target, ApiError> {
    let queue = app.queue(&name.queue()?)?;
    Ok(Target { key: LimitKey::of_queue(&queue), tenant: None })
}

fn type_target(name: &PathName) -> Result<Target, ApiError> {
    let kind = JobType::parse(name.as_str()).map_err(|error| {
        ApiError::invalid_request(format!("The job type {error}.")).detail("field", "type")
    })?;
    Ok(Target { key: LimitKey::of_type(&kind), tenant: None })
}
