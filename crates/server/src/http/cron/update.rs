//! Routes that change a cron job without registering it again: enable, disable, and change some members.

use std::borrow::Cow;

use rota_engine::{CronView, Reply};
use rota_model::{Rejection, json};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Wrapped, changed, find, parse, to_json};
use crate::http::body::NoBody;
use crate::http::body::{Json, member};
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::{Params, PathName};
use crate::http::{Access, reply};
use crate::runtime::Answer;

/// Members that a request may change. They mean the same as in a registration.
const CHANGEABLE: [&str; 8] = [
    "enabled",
    "expression",
    "cron",
    "schedule",
    "timezone",
    "overlap_policy",
    "description",
    "job_template",
];

pub(super) async fn pause(app: Access, name: PathName, params: Params, _: NoBody) -> ApiResult {
    enable(app, &name, &params, false).await
}

pub(super) async fn resume(app: Access, name: PathName, params: Params, _: NoBody) -> ApiResult {
    enable(app, &name, &params, true).await
}

async fn enable(app: Access, name: &PathName, params: &Params, enabled: bool) -> ApiResult {
    let full_name = find(&app, name, params).await?.name;
    let cron = changed(app.enable_cron(full_name, enabled).await?, name)?;
    Ok(reply::ok(&Wrapped::new(&cron)))
}

/// Changes the members that the body has. The others stay as they are.
pub(super) async fn patch(app: Access, name: PathName, params: Params, body: Json) -> ApiResult {
    let mut changes = body.members()?;
    if let Some((unknown, _)) = changes.iter().find(|(key, _)| !CHANGEABLE.contains(&&**key)) {
        let text = "cannot be changed in this way";
        let hint = format!("A request can change: {}.", CHANGEABLE.join(", "));
        return Err(Rejection::value(unknown.clone().into_owned(), text).hint(hint).into());
    }
    if changes.is_empty() {
        return Err(Rejection::field("enabled", "is missing, and so is all that can be changed")
            .hint("Such as {\"enabled\": false} or {\"expression\": \"0 9 * * *\"}.")
            .into());
    }
    if changes.iter().any(|(name, value)| name == "enabled" && value.get() == "null") {
        return Err(Rejection::field("enabled", "must be true or false, not null").into());
    }
    // The three names of the expression replace each other.
    for (key, _) in &mut changes {
        if matches!(&**key, "cron" | "schedule") {
            *key = "expression".into();
        }
    }
    // Nobody may register or change it between reading it and writing it.
    let _guard = app.cron_changes.lock().await;
    let current = find(&app, &name, &params).await?;
    let registration = registration(&current);
    let merged = merge(&json::members(&registration, "the schedule")?, &changes)?;
    let merged = json::members(&merged, "the schedule")?;
    let spec = parse(&app, &merged, app.sender().naming(&current.tenant))?;
    match app.put_cron(spec).await? {
        Reply::Cron { cron, .. } => Ok(reply::ok(&Wrapped::new(&cron))),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// A body that would register the cron job as it is.
fn registration(cron: &CronView) -> String {
    #[derive(Serialize)]
    struct Registration<'a> {
        name: &'a str,
        expression: &'a str,
        timezone: &'a str,
        overlap_policy: &'a str,
        enabled: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a RawValue>,
        job_template: &'a RawValue,
    }
    let sent = std::str::from_utf8(&cron.shown).unwrap_or_default();
    let sent = json::members(sent, "the schedule").unwrap_or_default();
    to_json(&Registration {
        name: cron.name.local(),
        expression: &cron.expression,
        timezone: &cron.timezone,
        overlap_policy: cron.overlap.as_str(),
        enabled: cron.enabled,
        description: member(&sent, "description"),
        job_template: member(&sent, "job_template").unwrap_or(RawValue::NULL),
    })
}

/// The members of `current` with those of `changes` in their place. A job template is merged member by
/// member, and so are its options.
fn merge(current: &json::Members<'_>, changes: &json::Members<'_>) -> Result<String, ApiError> {
    let merge_member = |(key, value): &(Cow<'_, str>, &RawValue)| {
        let nested = matches!(&**key, "job_template" | "options");
        let old = member(current, key).filter(|_| nested);
        let value = old.map_or(Ok((*value).to_owned()), |old| merge_objects(old, value));
        value.map(|value| (key.to_string(), value))
    };
    let changed: Vec<(String, Box<RawValue>)> =
        changes.iter().map(merge_member).collect::<Result<_, ApiError>>()?;
    let is_changed = |name: &str| changed.iter().any(|(key, _)| key == name);
    let kept = current.iter().filter(|(name, _)| !is_changed(name));
    let kept = kept.map(|(name, value)| (name.clone(), *value));
    let changed = changed.iter().map(|(key, value)| (key.as_str().into(), &**value));
    Ok(to_json(&json::Object(kept.chain(changed).collect())))
}

fn merge_objects(current: &RawValue, change: &RawValue) -> Result<Box<RawValue>, ApiError> {
    let is_object = |raw: &RawValue| raw.get().starts_with('{');
    if !is_object(current) || !is_object(change) {
        return Ok(change.to_owned());
    }
    let current = json::members(current.get(), "the job")?;
    let change = json::members(change.get(), "the job")?;
    let merged = merge(&current, &change)?;
    Ok(RawValue::from_string(merged).expect("JSON was just written"))
}
