//! Admin routes for workers: list, show, quiet, terminate, resume, delete.

use rota_engine::{Engine, Refusal, Reply, WorkerView};
use rota_model::{Directive, WorkerId};
use rota_store::Body;
use serde_json::{Value, json};

use crate::http::access::NamedJobs;
use crate::http::body::NoBody;
use crate::http::error::{ApiError, ApiResult};
use crate::http::name_pages::{NameWindow, json_bytes};
use crate::http::params::{Params, PathName};
use crate::http::{Access, View, reply};
use crate::runtime::Answer;

pub(in crate::http) async fn list(app: Access, params: Params) -> ApiResult {
    let mut window = NameWindow::from_params(&params, 20, 100)?;
    // A tenant's cursors are worker ids without the tenant's prefix.
    let is_tenant = !app.is_operator();
    if is_tenant && let Ok(id) = WorkerId::parse(&window.after) {
        window.after = app.worker(id).to_string();
    }
    let look = |view: View<'_>, after: &str, skip, most| {
        (view.workers_after(after, skip, most), view.worker_counts())
    };
    let name = |view: &WorkerView| match is_tenant {
        true => view.about.worker.local().to_owned(),
        false => view.about.worker.to_string(),
    };
    let page = window.read(&app, look, name, |view| json_bytes(&item(view), 2)).await?;
    let counts = page.counts;
    let summary = json!({
        "total": counts.all(),
        "running": counts.running,
        "quiet": counts.quiet,
        "terminate": counts.terminate,
        "stale": counts.stale,
    });
    let items: Vec<Value> = page.items.iter().map(item).collect();
    Ok(reply::ok(&json!({
        "items": items, "workers": items, "summary": summary, "pagination": page.pagination,
    })))
}

pub(in crate::http) async fn show(app: Access, name: PathName) -> ApiResult {
    let (view, jobs) = find(&app, &name).await?;
    let mut ids: Vec<String> = Vec::new();
    let note = |_, body: Option<Body>| ids.extend(body.map(|body| body.id.to_string()));
    app.each_body(&jobs, note).await?;
    let mut value = item(&view);
    value["active_job_ids"] = json!(ids);
    Ok(reply::ok(&value))
}

pub(in crate::http) async fn quiet(app: Access, name: PathName, _: NoBody) -> ApiResult {
    send_directive(&app, &name, Directive::Quiet).await
}

pub(in crate::http) async fn terminate(app: Access, name: PathName, _: NoBody) -> ApiResult {
    send_directive(&app, &name, Directive::Terminate).await
}

pub(in crate::http) async fn resume(app: Access, name: PathName, _: NoBody) -> ApiResult {
    send_directive(&app, &name, Directive::Running).await
}

pub(in crate::http) async fn drop_stale(app: Access, name: PathName, _: NoBody) -> ApiResult {
    let view = find(&app, &name).await?.0;
    let (id, requeued) = (view.about.worker, view.active);
    done(app.drop_stale_worker(id).await?, &name)?;
    Ok(reply::ok(&json!({"deleted": true, "id": name.as_str(), "jobs_requeued": requeued})))
}

async fn send_directive(app: &Access, name: &PathName, directive: Directive) -> ApiResult {
    let id = find(app, name).await?.0.about.worker;
    done(app.direct(id, directive).await?, name)?;
    Ok(reply::ok(&item(&find(app, name).await?.0)))
}

fn done(reply: Reply, name: &PathName) -> Result<(), ApiError> {
    match reply {
        Reply::Done => Ok(()),
        Reply::Refused(Refusal::UnknownWorker) => Err(ApiError::not_found("worker", name.as_str())),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// A worker that the caller may see, and its active jobs. A tenant gets its own jobs only, even if the
/// worker has jobs of other tenants.
async fn find(app: &Access, name: &PathName) -> Result<(WorkerView, NamedJobs), ApiError> {
    let id = app.worker(name.worker()?);
    let look = app.look(move |view| {
        let id = match view.operator() {
            Some(engine) => any_of_name(engine, id)?,
            None => id,
        };
        Ok(view.worker(&id))
    });
    let found: Result<Option<_>, ApiError> = look.await?;
    found?.ok_or_else(|| ApiError::not_found("worker", name.as_str()))
}

/// The worker that an operator means: one of the operators' own, or else the only tenant's of this name.
fn any_of_name(engine: &Engine, id: WorkerId) -> Result<WorkerId, ApiError> {
    if engine.worker(&id, None).is_some() {
        return Ok(id);
    }
    match engine.tenants_workers_named(&id).as_slice() {
        [] => Ok(id),
        [only] => Ok(only.clone()),
        several => {
            let tenants: Vec<_> = several.iter().filter_map(WorkerId::namespace).collect();
            let text = format!("Several tenants have a worker '{id}': {}.", tenants.join(", "));
            Err(ApiError::conflict(text)
                .hint("Send the header X-OJS-Tenant with the tenant whose worker you mean.")
                .detail("tenants", json!(tenants)))
        }
    }
}

/// The tenant that the worker belongs to: the caller of its first request.
fn owner(view: &WorkerView) -> Option<&str> {
    view.about.tenant.as_deref().or(view.about.worker.namespace())
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
        "pool": about.pool.as_ref().map(|pool| pool.local()),
        "concurrency": about.concurrency,
        "labels": about.labels,
        "active_jobs": view.active,
        "started_at": about.started_at.clone().unwrap_or_else(|| view.since.to_string()),
        "registered_at": view.since.to_string(),
        "last_seen_at": view.last_seen.to_string(),
        "last_heartbeat_at": view.beats.then(|| view.last_seen.to_string()),
        "last_heartbeat": view.beats.then(|| view.last_seen.to_string()),
        "version": about.version,
        "metadata": about.metadata,
    })
}
