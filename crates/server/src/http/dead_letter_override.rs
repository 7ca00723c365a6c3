//! What a retry of a dead job overrides: the job's envelope, with some members replaced.

use rota_engine::Override;
use rota_model::envelope::{self, Rules, Tenancy};
use rota_model::{JobId, Rejection, TenantId, json};
use rota_store::Record;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Access;
use super::body::Json;
use super::error::ApiError;

/// Members that are replaced.
const REPLACED: [&str; 9] = [
    "args",
    "queue",
    "priority",
    "timeout",
    "timeout_ms",
    "visibility_timeout",
    "visibility_timeout_ms",
    "rate_limit",
    "tags",
];
/// Members that are merged into those of the job, name by name.
const MERGED: [&str; 2] = ["meta", "retry"];
/// Two names of the same thing. Overriding one removes the other.
const SYNONYMS: [(&str, &str); 2] =
    [("timeout", "timeout_ms"), ("visibility_timeout", "visibility_timeout_ms")];

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RetryBody {
    #[serde(rename = "override")]
    changes: Option<Map<String, Value>>,
}

/// The members to override, at the top level or in `options`; `None` if there are none.
pub(super) fn parse(body: Option<&Json>) -> Result<Option<Map<String, Value>>, ApiError> {
    let Some(body) = body else { return Ok(None) };
    let body: RetryBody = body.parse()?;
    let Some(mut changes) = body.changes else { return Ok(None) };
    match changes.remove("options") {
        None | Some(Value::Null) => {}
        Some(Value::Object(options)) => {
            for (name, value) in options {
                if changes.get(&name).is_some_and(|other| *other != value) {
                    let problem =
                        "is given at the top level and in 'options' with different values";
                    return Err(Rejection::field(format!("override.{name}"), problem).into());
                }
                changes.insert(name, value);
            }
        }
        Some(_) => return Err(Rejection::field("override.options", "must be an object").into()),
    }
    let is_known = |name: &str| REPLACED.contains(&name) || MERGED.contains(&name);
    if let Some(name) = changes.keys().find(|name| !is_known(name)) {
        let known = [&REPLACED[..], &MERGED[..]].concat().join(", ");
        return Err(Rejection::value(format!("override.{name}"), "cannot be overridden")
            .hint(format!("These can: {known}."))
            .into());
    }
    Ok((!changes.is_empty()).then_some(changes))
}

/// The job as it is after the changes, checked like a new one. It stays its tenant's.
pub(super) fn apply(
    app: &Access,
    record: &Record,
    owner: &TenantId,
    changes: &Map<String, Value>,
) -> Result<Override, ApiError> {
    let text = format!("{{{}}}", String::from_utf8_lossy(&record.body.json));
    let mut members = Vec::new();
    for (name, value) in json::members(&text, "the job")? {
        let synonym = SYNONYMS.iter().find(|(a, b)| *a == name || *b == name);
        let replaced = REPLACED.contains(&&*name) && changes.contains_key(&*name)
            || synonym.is_some_and(|(a, b)| changes.contains_key(*a) || changes.contains_key(*b));
        if !(replaced || MERGED.contains(&&*name) && changes.contains_key(&*name)) {
            members.push(format!("{}:{}", Value::from(&*name), value.get()));
        }
    }
    for (name, change) in changes {
        let value = match MERGED.contains(&name.as_str()) {
            true => merged(&text, name, change)?,
            false => change.clone(),
        };
        members.push(format!("{}:{value}", Value::from(name.as_str())));
    }
    let text = format!("{{{}}}", members.join(","));
    let tenancy = Tenancy {
        default: Some(owner.clone()),
        in_body: true,
        // Nothing is added to a job whose `meta` names no tenant.
        of_request: false,
        ..app.rules.tenancy.clone()
    };
    let rules = Rules { tenancy, ..app.rules.clone() };
    let present = app.present();
    let id = JobId::v7(present.now.0, 0);
    let job = envelope::parse(&text, &rules, present, id, app.sender().naming(owner))?;
    Ok(Override { class: job.class, body: job.body, proven: job.proven })
}

/// The job's object of this name, with the members of `change` added or replaced.
fn merged(job: &str, name: &str, change: &Value) -> Result<Value, Rejection> {
    let Value::Object(change) = change else {
        return Err(Rejection::field(format!("override.{name}"), "must be an object"));
    };
    let job: Map<String, Value> = serde_json::from_str(job)
        .map_err(|error| Rejection::malformed(format!("the job cannot be read: {error}")))?;
    let mut merged = job.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, value) in change {
        merged.insert(name.clone(), value.clone());
    }
    Ok(merged.into())
}
