//! Routes that retry or delete many jobs of the dead letter at once.

use rota_engine::Selected;
use rota_model::{Millis, Rejection, duration};
use rota_store::Selection;
use serde::Deserialize;
use serde_json::json;

use super::admin::bulk::{self, Action};
use super::body::{self, Json, NoBody};
use super::error::{ApiError, ApiResult};
use super::filter::Filter;
use super::params::Params;
use super::{Access, reply};

const LIST: &str = "GET /ojs/v1/dead-letter";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RetryBody {
    filter: Option<FilterBody>,
    confirm: Option<bool>,
}

/// The filter may stand in `filter`, as for a retry, or beside `confirm`.
#[derive(Deserialize)]
struct PurgeBody {
    filter: Option<FilterBody>,
    confirm: Option<bool>,
    #[serde(flatten)]
    beside: serde_json::Map<String, serde_json::Value>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct FilterBody {
    #[serde(alias = "tenant")]
    tenant_id: Option<String>,
    queue: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    error_type: Option<String>,
    since: Option<String>,
    until: Option<String>,
    older_than: Option<String>,
}

pub(super) async fn retry(app: Access, body: Json) -> ApiResult {
    let body: RetryBody = body.parse()?;
    bulk::require_confirm(body.confirm, LIST)?;
    let filter = filter(&app, body.filter.unwrap_or_default(), "filter.")?;
    let outcome = bulk::apply(&app, Action::RetryOnly(Selected::DeadLetter), &filter, None).await?;
    let mut answer = outcome.json("retry");
    answer["retried"] = json!(outcome.succeeded);
    Ok(reply::ok(&answer))
}

pub(super) async fn purge(app: Access, body: Json) -> ApiResult {
    let body: PurgeBody = body.parse()?;
    bulk::require_confirm(body.confirm, LIST)?;
    let filter = match (body.filter, body.beside) {
        (Some(_), beside) if !beside.is_empty() => {
            return Err(ApiError::invalid_request(
                "The filter cannot be given both in 'filter' and beside it.",
            )
            .detail("field", "filter"));
        }
        (Some(filter_body), _) => filter(&app, filter_body, "filter.")?,
        (None, beside) => {
            let beside = body::parse(&serde_json::Value::Object(beside).to_string())?;
            filter(&app, beside, "")?
        }
    };
    delete(&app, &filter).await
}

/// A purge as the command line of the specification sends it: the path says what to do, and the query
/// string how old the jobs must be.
pub(super) async fn purge_by_path(app: Access, params: Params, _: NoBody) -> ApiResult {
    params.only(&["older_than"])?;
    let older_than = params.get("older_than").map(str::to_owned);
    let filter = filter(&app, FilterBody { older_than, ..FilterBody::default() }, "")?;
    delete(&app, &filter).await
}

async fn delete(app: &Access, filter: &Filter) -> ApiResult {
    let outcome = bulk::apply(app, Action::DeleteOnly(Selected::DeadLetter), filter, None).await?;
    let (deleted, failed) = (outcome.succeeded, outcome.failed);
    Ok(reply::ok(&json!({"purged_count": deleted, "deleted": deleted, "failed": failed})))
}

/// `within` is the prefix of the fields' names in messages.
fn filter(app: &Access, body: FilterBody, within: &str) -> Result<Filter, ApiError> {
    let now = app.now();
    let mut filter = Filter::all(app, Selection::DEAD_LETTER);
    if let Some(tenant) = &body.tenant_id {
        filter.set_tenant(tenant, &format!("{within}tenant_id"))?;
    }
    if let Some(queue) = &body.queue {
        filter.set_queue(queue)?;
    }
    filter.kind = body.kind;
    filter.dead.error_type = body.error_type.map(Into::into);
    let time = |text: Option<String>, field: &str| {
        text.map(|text| Millis::parse_rfc3339(&text))
            .transpose()
            .map_err(|e| Rejection::field(format!("{within}{field}"), e.to_string()))
    };
    filter.dead.since = time(body.since, "since")?;
    filter.dead.until = time(body.until, "until")?;
    if let Some(text) = body.older_than {
        let end = age_or_time(&text, now)
            .map_err(|e| Rejection::field(format!("{within}older_than"), e))?;
        filter.dead.until = Some(filter.dead.until.map_or(end, |until| until.min(end)));
    }
    Ok(filter)
}

/// A time, or an age such as `7d` or `P7D`.
fn age_or_time(text: &str, now: Millis) -> Result<Millis, String> {
    match duration::parse_any(text) {
        Ok(ms) => Ok(now.saturating_sub_ms(ms)),
        Err(_) => Millis::parse_rfc3339(text).map_err(|_| {
            "must be a time such as 2026-01-13T00:00:00Z, or an age such as 7d".into()
        }),
    }
}
