//! Routes for API keys: create, list, show, rotate, revoke, delete.

mod body;
mod json;

use axum::body::Body;
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, Response, StatusCode};
use rota_engine::{Reply, RotateKey};
use rota_identity::{ApiKey, KeyText};
use serde_json::{Value, json};

use self::body::{CreateBody, RotateBody};
use crate::http::body::{Json, NoBody, OptionalJson};
use crate::http::error::{ApiError, ApiResult};
use crate::http::name_pages::{NameWindow, json_bytes};
use crate::http::params::{Params, PathName};
use crate::http::{Access, View, reply};
use crate::identity::new_key;
use crate::runtime::Answer;

pub(in crate::http) async fn list(app: Access, params: Params) -> ApiResult {
    let Some(tenant) = app.tenant_or(params.tenant()?) else {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "A tenant sees its own API keys only.",
        ));
    };
    let look = move |view: View<'_>, after: &str, skip, most| {
        view.keys_after(tenant.as_ref(), after, skip, most)
    };
    let name = |key: &ApiKey| key.id.to_string();
    let size = |key: &ApiKey| json_bytes(&json::key(&app, key), 2);
    let page = NameWindow::from_params(&params, 20, 100)?.read(&app, look, name, size).await?;
    let items: Vec<Value> = page.items.iter().map(|key| json::key(&app, key)).collect();
    Ok(reply::ok(&json!({"items": items, "keys": items, "pagination": page.pagination})))
}

pub(in crate::http) async fn show(app: Access, name: PathName) -> ApiResult {
    let key = app.key(name.as_str()).await?;
    Ok(reply::ok(&json::key(&app, &key)))
}

/// Creates a key. Only this answer contains it.
pub(in crate::http) async fn create(app: Access, body: Json) -> ApiResult {
    let grantor = app.grantor();
    let text = secret()?;
    let key = body.parse::<CreateBody>()?.into_key(&grantor, &text, app.wall_clock())?;
    match app.create_key(key).await? {
        Reply::Key(key) => Ok(shown_once(json::key(&app, &key), &text)),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// Creates a successor. The old key works for a while.
pub(in crate::http) async fn rotate(app: Access, name: PathName, body: OptionalJson) -> ApiResult {
    let body: RotateBody = body.parse()?;
    let text = secret()?;
    let overlap_ms = body.overlap_ms(app.settings.auth.rotation_overlap)?;
    let expires = app.grantor().end_of_key(body.expires(app.wall_clock())?)?;
    let rotate = |old| RotateKey { old, new: text.id(), hash: text.hash(), overlap_ms, expires };
    match app.rotate_key(name.as_str(), rotate).await? {
        Reply::KeyRotated { old, new } => {
            let mut answer = json::key(&app, &new);
            answer["previous"] = json::key(&app, &old);
            Ok(shown_once(answer, &text))
        }
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// Revokes a key. It is refused from the next request on.
pub(in crate::http) async fn revoke(app: Access, name: PathName, _: NoBody) -> ApiResult {
    match app.revoke_key(name.as_str()).await? {
        Reply::Key(key) => Ok(reply::ok(&json::key(&app, &key))),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// Deletes the record of a key that has ended.
pub(in crate::http) async fn remove(app: Access, name: PathName, _: NoBody) -> ApiResult {
    match app.remove_key(name.as_str()).await? {
        Reply::Key(key) => Ok(reply::ok(&json!({"deleted": true, "id": key.id}))),
        reply => Err(Answer::Reply(reply).into()),
    }
}

fn secret() -> Result<KeyText, ApiError> {
    new_key().map_err(|_| ApiError::busy("The system gives no random numbers for a key."))
}

fn shown_once(mut key: Value, text: &KeyText) -> Response<Body> {
    key["key"] = json!(text.reveal());
    let mut response = reply::json(StatusCode::CREATED, &key);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
