//! Reads request bodies, bounded in size, time and JSON depth.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use axum::body::HttpBody;
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use rota_model::json::{self, Members};
use rota_model::{Rejection, json as model_json};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::App;
use super::error::{ApiError, excerpt};
use super::listen::wait_for_rest;
use rota_settings::Settings;

/// A JSON body whose encoding and nesting have been checked. It is not parsed yet.
pub(super) struct Json(Bytes);

impl Json {
    pub fn of(headers: &HeaderMap, bytes: Bytes, app: &App) -> Result<Self, ApiError> {
        check_media_type(headers)?;
        Self::checked(bytes, app)
    }

    fn checked(bytes: Bytes, app: &App) -> Result<Self, ApiError> {
        if bytes.is_empty() {
            let error = Rejection::malformed("the body is empty").hint("Send one JSON object.");
            return Err(error.into());
        }
        model_json::check(&bytes, app.settings.limits.json_depth)?;
        Ok(Self(json::on_one_line(&bytes).map_or(bytes, Bytes::from)))
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    pub fn members(&self) -> Result<Members<'_>, Rejection> {
        json::members(self.text(), "the body")
    }

    /// Parses the body as an object of arbitrary members.
    pub fn object(&self) -> Result<Map<String, Value>, ApiError> {
        self.members()?;
        self.parse()
    }

    /// Parses the body as an object with members in `known` only. `what` names it, such as "a fetch".
    pub fn members_of(&self, known: &[&str], what: &str) -> Result<Members<'_>, Rejection> {
        let members = self.members()?;
        json::check_members(members.iter().map(|(name, _)| &**name), known, "", what)?;
        Ok(members)
    }

    pub fn parse<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, ApiError> {
        // serde would also read a struct from an array of its fields.
        if self.text().trim_start().starts_with('[') {
            self.members()?;
        }
        parse(self.text())
    }
}

/// Parses a body, or an object in it. Members that the type does not have are named, if it denies them.
pub(super) fn parse<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, ApiError> {
    serde_json::from_str(text).map_err(|error| {
        // An unknown member is found before the rest has been parsed.
        let error = serde_json::from_str::<IgnoredAny>(text).err().unwrap_or(error);
        if let Some(rejection) = unknown_field(text, &error) {
            rejection.into()
        } else if error.is_data() {
            let message = format!("The body does not fit: {}.", describe(&error));
            ApiError::unfit(&error, message, json::path_of_error(text, &error))
        } else {
            Rejection::malformed(format!("the body is not valid JSON: {error}")).into()
        }
    })
}

/// The error for a member that a struct does not have, made from serde's message, which is the only place
/// that names it: "unknown field `a`, expected one of `b`, `c` at line 1 column 2".
fn unknown_field(body: &str, error: &serde_json::Error) -> Option<Rejection> {
    let text = error.to_string();
    let (name, rest) = text.strip_prefix("unknown field `")?.split_once("`, ")?;
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    Some(json::unknown_member(name, &known, &json::path_of_owner(body, error), "this object"))
}

/// serde's message, with Rust's type names replaced by words a client understands.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let Some((before, after)) = text.split_once(", expected ") else { return text };
    let (expected, position) = after.rsplit_once(" at ").unwrap_or((after, "the end"));
    let expected = match expected {
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 to 18446744073709551615",
        "i32" | "i64" => "a whole number",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    format!("{before}, expected {expected} at {position}")
}

impl FromRequest<Arc<App>> for Json {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        check_media_type(&head.headers)?;
        // The body has nearly always been read already.
        Self::checked(read(body, &app.settings).await?, app)
    }
}

/// A JSON object, or no body at all.
pub(super) struct OptionalJson(Option<Json>);

impl OptionalJson {
    pub fn get(&self) -> Option<&Json> {
        self.0.as_ref()
    }

    /// Parses the body; without one, an empty object.
    pub fn parse<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, ApiError> {
        self.0.as_ref().map_or_else(|| parse("{}"), Json::parse)
    }

    /// The members, all of which are in `known`. `what` names the object, such as "a retry".
    pub fn members(&self, known: &[&str], what: &str) -> Result<Map<String, Value>, ApiError> {
        let members = self.0.as_ref().map_or_else(|| Ok(Map::new()), Json::object)?;
        json::check_members(members.keys().map(String::as_str), known, "", what)?;
        Ok(members)
    }
}

impl FromRequest<Arc<App>> for OptionalJson {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        let (head, body) = request.into_parts();
        let bytes = read(body, &app.settings).await?;
        if bytes.is_empty() {
            return Ok(Self(None));
        }
        Json::of(&head.headers, bytes, app).map(|json| Self(Some(json)))
    }
}

/// The body of a request that has nothing to say: none, or an empty object.
pub(super) struct NoBody;

impl FromRequest<Arc<App>> for NoBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        let body = OptionalJson::from_request(request, app).await?;
        let members = body.get().map_or_else(|| Ok(Map::new()), Json::object)?;
        let Some(name) = members.keys().next() else { return Ok(Self) };
        let text = format!("This request has no members, and '{}' is given.", excerpt(name));
        Err(ApiError::invalid_request(text)
            .detail("field", name.as_str())
            .hint("Send no body, or {}."))
    }
}

/// Reads a body to its end and keeps nothing of it; `false` if it has not come to its end.
pub(super) async fn discard<B>(body: B, settings: &Settings) -> bool
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let limit = settings.limits.body_bytes;
    if body.is_end_stream() {
        return true;
    }
    if body.size_hint().lower() > limit as u64 {
        return false;
    }
    let rest = async {
        let mut body = pin!(Limited::new(body, limit));
        while let Some(frame) = body.frame().await {
            if frame.is_err() {
                return false;
            }
        }
        true
    };
    wait_for_rest(settings.http.body_timeout, rest).await.unwrap_or(false)
}

/// Reads a whole body.
pub(super) async fn read<B>(body: B, settings: &Settings) -> Result<Bytes, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let limit = settings.limits.body_bytes;
    // Refused by its Content-Length, without reading it.
    if body.size_hint().lower() > limit as u64 {
        return Err(too_long(limit));
    }
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let mut reading = pin!(collect(body, limit));
    // The body nearly always arrives together with the head; then no timer is needed.
    let first_poll = poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await;
    match first_poll {
        Poll::Ready(read) => read,
        Poll::Pending => {
            wait_for_rest(settings.http.body_timeout, reading).await.map_err(|_| timed_out())?
        }
    }
}

async fn collect<B>(body: B, limit: usize) -> Result<Bytes, ApiError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_long(limit)),
        Err(error) => Err(ApiError::invalid_request(format!("The body ended early: {error}."))
            .detail("field", "body")),
    }
}

fn check_media_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let encoding = headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?"));
    if let Some(encoding) = encoding.filter(|name| !name.eq_ignore_ascii_case("identity")) {
        let text = format!("The content encoding '{}' is not supported.", excerpt(encoding));
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_request", text)
            .detail("field", "Content-Encoding")
            .hint("Send the body as it is, without Content-Encoding."));
    }
    let Some(given) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let text = given.to_str().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    let supported = ["application/openjobspec+json", "application/json"];
    if supported.iter().any(|name| essence.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    Err(ApiError::invalid_request(format!(
        "The content type '{}' is not supported.",
        excerpt(text)
    ))
    .detail("field", "Content-Type")
    .hint("Send Content-Type: application/openjobspec+json or application/json."))
}

fn too_long(limit: usize) -> ApiError {
    Rejection::too_large(format!("the body has more than {limit} bytes"))
        .hint("Split the batch, or raise limits.body_bytes.")
        .into()
}

fn timed_out() -> ApiError {
    ApiError::new(
        StatusCode::REQUEST_TIMEOUT,
        "invalid_request",
        "The body took too long to arrive.",
    )
    .detail("field", "body")
    .hint("Send the whole body at once, or raise http.body_timeout.")
}

/// The member of this name; `None` if it is absent or null.
pub(super) fn member<'a>(members: &Members<'a>, name: &str) -> Option<&'a RawValue> {
    let (_, value) = members.iter().find(|(key, _)| key == name)?;
    (value.get() != "null").then_some(*value)
}
