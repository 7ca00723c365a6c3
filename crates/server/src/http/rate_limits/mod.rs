//! Rate limits: looking at them, and an operator's word on them.

mod json;
mod list;
mod meaning;
mod said;

use axum::extract::State;
use rota_engine::{Command, LimitName, LimitView, Refusal, Reply};
use rota_model::{JobId, JobType, LimitKey, QueueName, TenantId};
use serde_json::Value;

use super::body::Json;
use super::caller::{caller, only_operators};
use super::error::{ApiError, ApiResult};
use super::params::{Params, PathName};
use super::{App, Shared, reply};
use crate::runtime::Answer;

pub(super) use json::numbers as numbers_json;
pub(super) use list::list;
pub(super) use said::Said;

const QUEUE: &str = "The limit of a queue";
/// The most tenants' parts of a key that are shown with it.
const MOST_PARTS: usize = 1_000;

/// What a request speaks of.
struct Target {
    key: LimitKey,
    tenant: Option<TenantId>,
}

pub(super) async fn show(State(app): Shared, name: PathName, params: Params) -> ApiResult {
    let target = known(&app, known_key(&name)?, tenant(&params, &name)?).await?;
    answer(&app, &target).await
}

pub(super) async fn put(
    State(app): Shared,
    name: PathName,
    params: Params,
    body: Json,
) -> ApiResult {
    let key = LimitKey::parse(name.as_str())
        .map_err(|e| ApiError::invalid_request(format!("The key {e}.")).detail("field", "key"))?;
    let tenant = tenant(&params, &name)?;
    let said = Said::read(&body, &key, app.handle.clock().now().wall)?;
    let target = meaning::target_of(&app, Target { key, tenant }, &said).await?;
    say(&app, target, said).await
}

pub(super) async fn clear(State(app): Shared, name: PathName, params: Params) -> ApiResult {
    let target = known(&app, known_key(&name)?, tenant(&params, &name)?).await?;
    forget(&app, target).await
}

pub(super) async fn show_queue(State(app): Shared, name: PathName) -> ApiResult {
    let target = of_queue(&app, &name)?;
    answer(&app, &target).await
}

pub(super) async fn put_queue(State(app): Shared, name: PathName, body: Json) -> ApiResult {
    let target = of_queue(&app, &name)?;
    app.only_operators_if_shared(QUEUE)?;
    let said = Said::read(&body, &target.key.local(), app.handle.clock().now().wall)?;
    say(&app, target, said).await
}

pub(super) async fn clear_queue(State(app): Shared, name: PathName) -> ApiResult {
    let target = of_queue(&app, &name)?;
    app.only_operators_if_shared(QUEUE)?;
    forget(&app, target).await
}

pub(super) async fn show_type(State(app): Shared, name: PathName) -> ApiResult {
    answer(&app, &of_type(&name)?).await
}

pub(super) async fn put_type(State(app): Shared, name: PathName, body: Json) -> ApiResult {
    only_operators("The limit of a job type")?;
    let target = of_type(&name)?;
    let said = Said::read(&body, &target.key, app.handle.clock().now().wall)?;
    say(&app, target, said).await
}

pub(super) async fn clear_type(State(app): Shared, name: PathName) -> ApiResult {
    only_operators("The limit of a job type")?;
    forget(&app, of_type(&name)?).await
}

/// A limit as it stands, if there is one.
pub(super) async fn look(
    app: &App,
    key: LimitKey,
    tenant: Option<TenantId>,
) -> Result<Option<LimitView>, ApiError> {
    Ok(app.handle.look(move |engine| engine.limit(&key, tenant.as_ref())).await?)
}

/// Named as whoever asks would name the key.
fn unknown(target: &Target) -> ApiError {
    ApiError::not_found("rate limit", &target.key.local())
}

async fn answer(app: &App, target: &Target) -> ApiResult {
    let view = look(app, target.key.clone(), target.tenant.clone()).await?;
    // What an operator has declared for everyone holds a tenant's jobs too.
    let view = match view {
        None if target.tenant.is_some() && caller().is_some() => {
            let shared = look(app, target.key.clone(), None).await?;
            shared.filter(|view| view.declared.is_some())
        }
        found => found,
    };
    let parts = match target.tenant {
        Some(_) => Vec::new(),
        None => parts_of(app, &target.key).await?,
    };
    match (view, parts.is_empty()) {
        (None, true) => Err(unknown(target)),
        (Some(view), true) => Ok(reply::ok(&json::partition(&view))),
        (view, false) => Ok(reply::ok(&json::with_parts(&target.key, view.as_ref(), &parts))),
    }
}

async fn say(app: &App, target: Target, said: Said) -> ApiResult {
    if said.only_ends() && look(app, target.key.clone(), target.tenant.clone()).await?.is_none() {
        return Err(unknown(&target));
    }
    let view =
        tell(app, Command::PutLimit(Box::new(said.about(target.key, target.tenant)))).await?;
    Ok(reply::ok(&json::partition(&view)))
}

/// Says something about a limit, and gives what it is then.
pub(super) async fn tell(app: &App, command: Command<JobId>) -> Result<LimitView, ApiError> {
    match app.handle.command(command).await? {
        Reply::Limit(view) => Ok(*view),
        reply => Err(Answer::Reply(reply).into()),
    }
}

async fn forget(app: &App, target: Target) -> ApiResult {
    let clear = Command::ClearLimit(target.key.clone(), target.tenant.clone());
    match app.handle.command(clear).await? {
        Reply::Limit(view) => Ok(reply::ok(&json::partition(&view))),
        Reply::Refused(Refusal::UnknownLimit) => Err(unknown(&target)),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// The parts of a key that tenants have to themselves.
async fn parts_of(app: &App, key: &LimitKey) -> Result<Vec<Value>, ApiError> {
    let key = key.clone();
    let look = app.handle.look(move |engine| {
        let whole = LimitName { key: key.clone(), tenant: None, declared: false };
        let after = engine.limits_after(Some(&whole), &key, MOST_PARTS);
        let own = after.into_iter().take_while(|name| name.key == key);
        own.filter_map(|name| engine.limit(&name.key, name.tenant.as_ref())).collect::<Vec<_>>()
    });
    Ok(look.await?.iter().map(json::partition).collect())
}

/// The tenant whose part is meant. Nobody but an operator may mean another's.
fn tenant(params: &Params, name: &PathName) -> Result<Option<TenantId>, ApiError> {
    let given = params.get("tenant").map(|text| {
        TenantId::parse(text).map_err(|e| {
            ApiError::invalid_request(format!("'tenant' {e}.")).detail("field", "tenant")
        })
    });
    let given = given.transpose()?;
    match (caller(), given) {
        (Some(caller), Some(given)) if caller != given => {
            Err(ApiError::not_found("rate limit", name.as_str()))
        }
        (caller, given) => Ok(caller.or(given)),
    }
}

fn known_key(name: &PathName) -> Result<LimitKey, ApiError> {
    LimitKey::parse(name.as_str()).map_err(|_| ApiError::not_found("rate limit", name.as_str()))
}

/// What is known of a key; the queue that a tenant has to itself comes before its jobs' own limits.
async fn known(app: &App, key: LimitKey, tenant: Option<TenantId>) -> Result<Target, ApiError> {
    if let Some(target) = of_own_queue(app, &key, tenant.as_ref())
        && look(app, target.key.clone(), None).await?.is_some()
    {
        return Ok(target);
    }
    Ok(Target { key, tenant })
}

/// The limit of a whole queue, where the tenant has queues of its own.
fn of_own_queue(app: &App, key: &LimitKey, tenant: Option<&TenantId>) -> Option<Target> {
    let tenant = tenant.filter(|_| app.is_namespaced())?;
    let queue = QueueName::parse(key.strip_prefix("queue:")?).ok()?;
    Some(Target { key: LimitKey::of_queue(&queue.in_namespace(tenant)), tenant: None })
}

fn of_queue(app: &App, name: &PathName) -> Result<Target, ApiError> {
    let queue = app.queue(&name.queue()?)?;
    Ok(Target { key: LimitKey::of_queue(&queue), tenant: None })
}

fn of_type(name: &PathName) -> Result<Target, ApiError> {
    let kind = JobType::parse(name.as_str())
        .map_err(|error| ApiError::invalid_request(format!("The job type {error}.")))?;
    Ok(Target { key: LimitKey::of_type(&kind), tenant: None })
}
