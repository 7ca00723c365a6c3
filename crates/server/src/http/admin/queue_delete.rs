//! The route that deletes a queue, with its unfinished jobs if the request says so.

use rota_engine::{Refusal, Reply};
use rota_model::Rejection;
use serde_json::{Value, json};

use super::purge::{Doomed, Purge};
use crate::http::body::OptionalJson;
use crate::http::error::{ApiError, ApiResult};
use crate::http::filter::Filter;
use crate::http::params::{Params, PathName};
use crate::http::{Access, reply};
use crate::runtime::Answer;

pub(in crate::http) async fn delete(
    app: Access,
    name: PathName,
    params: Params,
    body: OptionalJson,
) -> ApiResult {
    app.operator_if_shared("Deleting a queue")?;
    let members = body.members(&["strategy", "purge", "confirm"], "the deletion of a queue")?;
    check_strategy(members.get("strategy"))?;
    let purge = Purge::from_request(&params, &members)?;
    let (local, queue) = (name.queue()?, app.queue(&name.queue()?)?);
    let of_queue = |select| {
        let mut filter = Filter::all(&app, select);
        filter.queue = Some(local.clone());
        filter
    };
    let doomed = Doomed::Queue(queue.clone());
    let deletion = purge.delete(&app, of_queue, &doomed);
    match deletion.await? {
        (Reply::Queue(_), purged) => {
            let name = queue.local();
            Ok(reply::ok(&json!({
                "deleted": true,
                "name": name,
                "queue": name,
                "state": "deleted",
                                "purged_jobs": purged,
                "jobs_affected": purged,
            })))
        }
        (Reply::Refused(Refusal::UnknownQueue), _) => {
            Err(ApiError::not_found("queue", name.as_str()))
        }
        (reply, _) => Err(Answer::Reply(reply).into()),
    }
}

/// What is to become of unfinished jobs. By default, and with `reject`, the queue is not deleted while it has
/// any.
fn check_strategy(strategy: Option<&Value>) -> Result<(), ApiError> {
    match strategy.map(Value::as_str) {
        None | Some(Some("reject")) => Ok(()),
        Some(Some(other @ ("discard" | "move"))) => {
            let text = format!("This server does not support the strategy '{other}' yet.");
            let hint = "Send {\"purge\": true, \"confirm\": true} to remove unfinished jobs.";
            Err(ApiError::unsupported(text).detail("field", "strategy").hint(hint))
        }
        Some(_) => Err(Rejection::field("strategy", "must be reject, discard or move").into()),
    }
}
