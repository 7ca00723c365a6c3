//! Admin routes for the dead letter: list and purge.

use axum::extract::State;
use axum::http::StatusCode;
use rota_model::{Millis, Rejection};
use rota_store::Selection;
use serde::Deserialize;
use serde_json::json;

use super::bulk::{self, Action};
use crate::http::body::Json;
use crate::http::error::ApiResult;
use crate::http::filter::Filter;
use crate::http::job_pages::{self, Window};
use crate::http::params::Params;
use crate::http::{Shared, job_json, reply};

pub(in crate::http) async fn list(State(app): Shared, params: Params) -> ApiResult {
    let filter = Filter::dead_letter(&params)?;
    let window = Window::from_params(&params, 20, 100)?;
    let page = job_pages::find(&app, &filter, &window).await?;
    Ok(reply::raw(StatusCode::OK, job_json::page_json("items", &page.records, &page.pagination)))
}

#[derive(Deserialize)]
struct PurgeBody {
    #[serde(alias = "tenant")]
    tenant_id: Option<String>,
    queue: Option<String>,
    older_than: Option<String>,
    confirm: Option<bool>,
}

pub(in crate::http) async fn purge(State(app): Shared, body: Json) -> ApiResult {
    let body: PurgeBody = body.parse()?;
    bulk::require_confirm(body.confirm)?;
    let mut filter = Filter::all(Selection::DEAD_LETTER);
    if let Some(tenant) = &body.tenant_id {
        filter.set_tenant(tenant, "tenant_id")?;
    }
    if let Some(queue) = &body.queue {
        filter.set_queue(queue)?;
    }
    let older_than = body
        .older_than
        .map(|text| Millis::parse_rfc3339(&text))
        .transpose()
        .map_err(|e| Rejection::field("older_than", e.to_string()))?;
    let outcome = bulk::apply(&app, Action::Delete, &filter, older_than).await?;
    Ok(reply::ok(&json!({"purged_count": outcome.succeeded, "failed": outcome.failed})))
}
