//! Workers, as an operator sees and handles them.

use axum::extract::State;
use rota_engine::{Command, Engine, Refusal, Reply, WorkerState, WorkerView};
use rota_model::{Directive, TenantId};
use serde_json::{Value, json};

use crate::http::caller::caller;
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::{Params, PathName};
use crate::http::{App, Shared, reply};
use crate::runtime::Answer;

pub(in crate::http) async fn list(State(app): Shared, params: Params) -> ApiResult {
    let per_page = params.number("per_page", 1, 100, 20)?;
    let page = params.number("page", 1, 1_000_000, 1)?;
    let workers = visible(&app).await?;
    let count = |state: WorkerState| workers.iter().filter(|w| w.state == state).count();
    let summary = json!({
        "total": workers.len(),
        "running": count(WorkerState::Is(Directive::Running)),
        "quiet": count(WorkerState::Is(Directive::Quiet)),
        "terminate": count(WorkerState::Is(Directive::Terminate)),
        "stale": count(WorkerState::Stale),
    });
    let skip = (page - 1) * per_page;
    let items: Vec<Value> =
        workers.iter().skip(skip as usize).take(per_page as usize).map(item).collect();
    let has_more = skip + per_page < workers.len() as u64;
    Ok(reply::ok(&json!({
        "items": items,
        "workers": items,
        "summary": summary,
        "pagination": {
            "total": workers.len(), "page": page, "per_page": per_page, "has_more": has_more,
        },
    })))
}

/// The workers that the caller can see: for a tenant its own.
pub(super) async fn visible(app: &App) -> Result<Vec<WorkerView>, ApiError> {
    let Some(tenant) = caller() else { return Ok(app.handle.look(Engine::workers).await?) };
    let look = app.handle.look(move |engine| {
        let mut workers = engine.workers();
        workers.retain(|view| is_of(view, &tenant));
        workers.iter_mut().for_each(|view| keep_own_jobs(engine, view, &tenant));
        workers
    });
    Ok(look.await?)
}

pub(in crate::http) async fn show(State(app): Shared, name: PathName) -> ApiResult {
    let view = find(&app, &name).await?;
    let bodies = app.handle.bodies(view.jobs.clone()).await?;
    let ids: Vec<String> = bodies.into_iter().flatten().map(|body| body.id.to_string()).collect();
    let mut value = item(&view);
    value["active_job_ids"] = json!(ids);
    Ok(reply::ok(&value))
}

pub(in crate::http) async fn quiet(State(app): Shared, name: PathName) -> ApiResult {
    direct(&app, &name, Directive::Quiet).await
}

pub(in crate::http) async fn terminate(State(app): Shared, name: PathName) -> ApiResult {
    direct(&app, &name, Directive::Terminate).await
}

pub(in crate::http) async fn resume(State(app): Shared, name: PathName) -> ApiResult {
    direct(&app, &name, Directive::Running).await
}

pub(in crate::http) async fn drop_stale(State(app): Shared, name: PathName) -> ApiResult {
    app.only_operators_share("A worker that serves all tenants")?;
    let requeued = find(&app, &name).await?.jobs.len();
    command(&app, &name, Command::DropStaleWorker(app.worker(name.worker()?))).await?;
    Ok(reply::ok(&json!({"deleted": true, "id": name.as_str(), "jobs_requeued": requeued})))
}

async fn direct(app: &App, name: &PathName, directive: Directive) -> ApiResult {
    app.only_operators_share("A worker that serves all tenants")?;
    command(app, name, Command::Direct(app.worker(name.worker()?), directive)).await?;
    Ok(reply::ok(&item(&find(app, name).await?)))
}

async fn command(app: &App, name: &PathName, command: Command) -> Result<(), ApiError> {
    match app.handle.command(command).await? {
        Reply::Done => Ok(()),
        Reply::Refused(Refusal::UnknownWorker) => Err(ApiError::not_found("worker", name.as_str())),
        reply => Err(Answer::Reply(reply).into()),
    }
}

async fn find(app: &App, name: &PathName) -> Result<WorkerView, ApiError> {
    let (id, tenant) = (app.worker(name.worker()?), caller());
    let look = app.handle.look(move |engine| {
        let mut view = engine.worker(&id)?;
        if let Some(tenant) = tenant {
            keep_own_jobs(engine, &mut view, &tenant);
            return is_of(&view, &tenant).then_some(view);
        }
        Some(view)
    });
    look.await?.ok_or_else(|| ApiError::not_found("worker", name.as_str()))
}

fn is_of(view: &WorkerView, tenant: &TenantId) -> bool {
    owner(view) == Some(tenant)
}

/// The tenant that the worker was first met for.
fn owner(view: &WorkerView) -> Option<&str> {
    view.about.tenant.as_deref().or(view.about.worker.namespace())
}

/// An operator may have given the worker jobs of others; a caller is told of its own.
fn keep_own_jobs(engine: &Engine, view: &mut WorkerView, tenant: &TenantId) {
    view.jobs.retain(|seq| {
        let class = engine.active_job(*seq).map(|live| live.class);
        class.and_then(|class| engine.owner_of(class)) == Some(tenant)
    });
}

fn item(view: &WorkerView) -> Value {
    let about = &view.about;
    json!({
        "id": about.worker.local(),
        "worker_id": about.worker.local(),
        "tenant_id": owner(view),
        "hostname": about.hostname,
        "pid": about.pid,
        "state": view.state.as_str(),
        "directive": view.directive.as_str(),
        "queues": about.queues,
        "pool": about.pool,
        "concurrency": about.concurrency,
        "labels": about.labels,
        "active_jobs": view.jobs.len(),
        "started_at": about.started_at.clone().unwrap_or_else(|| view.since.to_string()),
        "registered_at": view.since.to_string(),
        "last_seen_at": view.last_seen.to_string(),
        "last_heartbeat_at": view.beats.then(|| view.last_seen.to_string()),
        "version": about.version,
        "metadata": about.metadata,
    })
}
