//! Routes by which workers register and deregister.

use axum::extract::State;
use rota_engine::{Command, Refusal, Reply};
use rota_model::{Rejection, WorkerId};
use serde::Deserialize;
use serde_json::json;

use super::{WorkerInfoBody, worker_id};
use crate::http::body::Json;
use crate::http::caller::caller;
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::PathName;
use crate::http::{App, Shared, reply};
use crate::runtime::Answer;

#[derive(Deserialize)]
struct RegisterBody {
    worker_id: Option<String>,
    id: Option<String>,
    #[serde(flatten)]
    about: WorkerInfoBody,
}

/// One document of the specification has the fields at the top level, another in `worker`.
#[derive(Deserialize)]
struct RequestBody {
    worker: Option<RegisterBody>,
    #[serde(flatten)]
    top_level: RegisterBody,
}

pub(in crate::http) async fn register(State(app): Shared, body: Json) -> ApiResult {
    let body: RequestBody = body.parse()?;
    let body = body.worker.unwrap_or(body.top_level);
    let id =
        body.worker_id.or(body.id).ok_or_else(|| Rejection::field("worker_id", "is required"))?;
    let about = body.about.registration(worker_id(&app, &id)?)?;
    match app.handle.command(Command::Register(about.into())).await? {
        Reply::Done => {
            let seconds = |d: std::time::Duration| d.as_secs_f64();
            Ok(reply::ok(&json!({
                "ok": true,
                "worker_id": id,
                "server_time": app.handle.clock().now().wall.to_string(),
                "heartbeat_interval": seconds(app.settings.workers.heartbeat_interval),
                "heartbeat_timeout": seconds(app.settings.workers.heartbeat_timeout),
                "visibility_timeout_default": seconds(app.settings.jobs.visibility_timeout),
            })))
        }
        reply => Err(Answer::Reply(reply).into()),
    }
}

pub(in crate::http) async fn deregister(State(app): Shared, body: Json) -> ApiResult {
    #[derive(Deserialize)]
    struct Body {
        worker_id: String,
    }
    let body: Body = body.parse()?;
    remove(&app, worker_id(&app, &body.worker_id)?).await
}

pub(in crate::http) async fn deregister_by_path(State(app): Shared, name: PathName) -> ApiResult {
    remove(&app, app.worker(name.worker()?)).await
}

async fn remove(app: &App, id: WorkerId) -> ApiResult {
    match app.handle.command(Command::Deregister(id.clone(), caller())).await? {
        Reply::Done => {
            Ok(reply::ok(&json!({"ok": true, "worker_id": id.local(), "deregistered": true})))
        }
        Reply::Refused(Refusal::UnknownWorker) => Err(ApiError::not_found("worker", id.local())),
        reply => Err(Answer::Reply(reply).into()),
    }
}
