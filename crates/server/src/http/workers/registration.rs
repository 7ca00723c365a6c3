//! Routes by which workers register and deregister.

use rota_engine::{Refusal, Reply};
use rota_model::{Rejection, WorkerId, json};
use serde::Deserialize;
use serde_json::json;

use super::{WorkerInfoBody, worker_id};
use crate::http::body::NoBody;
use crate::http::body::{self, Json, member};
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::PathName;
use crate::http::{Access, reply};
use crate::runtime::Answer;

#[derive(Deserialize)]
struct RegisterBody {
    worker_id: Option<String>,
    id: Option<String>,
    #[serde(flatten)]
    about: WorkerInfoBody,
}

pub(in crate::http) async fn register(app: Access, body: Json) -> ApiResult {
    let body = parse(&body)?;
    let id =
        body.worker_id.or(body.id).ok_or_else(|| Rejection::field("worker_id", "is required"))?;
    let about = body.about.registration(worker_id(&app, &id)?)?;
    match app.register(about).await? {
        Reply::Done => {
            let seconds = |d: std::time::Duration| d.as_secs_f64();
            Ok(reply::ok(&json!({
                "ok": true,
                "worker_id": id,
                "server_time": app.wall_clock().to_string(),
                "heartbeat_interval": seconds(app.settings.workers.heartbeat_interval),
                "heartbeat_timeout": seconds(app.settings.workers.heartbeat_timeout),
                "visibility_timeout_default": seconds(app.settings.jobs.visibility_timeout),
            })))
        }
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// One document of the specification has the fields at the top level, another in `worker`.
fn parse(body: &Json) -> Result<RegisterBody, ApiError> {
    let members = body.members()?;
    let names = members.iter().map(|(name, _)| &**name);
    let known = [&["worker_id", "id"], WorkerInfoBody::MEMBERS].concat();
    let Some(worker) = member(&members, "worker") else {
        let names = names.filter(|name| *name != "worker");
        json::check_members(names, &known, "", "a registration")?;
        return body.parse();
    };
    json::check_members(names, &["worker"], "", "a registration with 'worker'")?;
    let inner = json::members(worker.get(), "'worker'")?;
    let names = inner.iter().map(|(name, _)| &**name);
    json::check_members(names, &known, "worker", "a registration")?;
    body::parse(worker.get())
}

pub(in crate::http) async fn deregister(app: Access, body: Json) -> ApiResult {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        worker_id: String,
    }
    let body: Body = body.parse()?;
    remove(&app, worker_id(&app, &body.worker_id)?).await
}

pub(in crate::http) async fn deregister_by_path(
    app: Access,
    name: PathName,
    _: NoBody,
) -> ApiResult {
    remove(&app, app.worker(name.worker()?)).await
}

async fn remove(app: &Access, id: WorkerId) -> ApiResult {
    match app.deregister(id.clone()).await? {
        Reply::Done => {
            Ok(reply::ok(&json!({"ok": true, "worker_id": id.local(), "deregistered": true})))
        }
        Reply::Refused(Refusal::UnknownWorker) => Err(ApiError::not_found("worker", id.local())),
        reply => Err(Answer::Reply(reply).into()),
    }
}
