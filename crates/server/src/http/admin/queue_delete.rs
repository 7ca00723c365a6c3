//! The route that deletes a queue, with its unfinished jobs if the request says so.

use axum::extract::State;
use rota_engine::{Command, Refusal, Reply};
use rota_model::Rejection;
use serde_json::json;

use super::purge::Purge;
use crate::http::body::OptionalJson;
use crate::http::error::{ApiError, ApiResult};
use crate::http::filter::Filter;
use crate::http::params::{Params, PathName};
use crate::http::{Shared, reply};
use crate::runtime::Answer;

pub(in crate::http) async fn delete(
    State(app): Shared,
    name: PathName,
    params: Params,
    body: OptionalJson,
) -> ApiResult {
    app.only_operators_if_shared("Deleting a queue")?;
    let members = body.members()?;
    let mut names = members.keys().map(String::as_str);
    if let Some(unknown) = names.find(|name| !matches!(*name, "purge" | "confirm")) {
        return Err(Rejection::value(unknown.to_owned(), "is not a member of this request")
            .hint("Only 'purge' and 'confirm' can be given.")
            .into());
    }
    let purge = Purge::from_request(&params, &members)?;
    let (local, queue) = (name.queue()?, app.queue(&name.queue()?)?);
    let of_queue = |select| {
        let mut filter = Filter::all(select);
        filter.queue = Some(local.clone());
        filter
    };
    let deletion = purge.delete(&app, of_queue, || Command::DeleteQueue(queue.clone()));
    match deletion.await? {
        (Reply::Queue(_), purged) => {
            let name = queue.local();
            Ok(reply::ok(&json!({"deleted": true, "name": name, "purged_jobs": purged})))
        }
        (Reply::Refused(Refusal::UnknownQueue), _) => {
            Err(ApiError::not_found("queue", name.as_str()))
        }
        (reply, _) => Err(Answer::Reply(reply).into()),
    }
}
