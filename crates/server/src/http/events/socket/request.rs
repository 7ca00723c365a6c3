//! The messages that clients send over a WebSocket.

use rota_model::json;
use serde_json::{Map, Value};

use super::super::super::error::{ApiError, excerpt};
use super::super::types;

/// The most names in one filter.
const MAX_NAMES: usize = 100;
/// How deep a message may be nested.
const MAX_DEPTH: usize = 16;

pub(super) enum Request {
    Subscribe(Subscribe),
    Unsubscribe(Unsubscribe),
    Resume { last_event_id: String },
}

/// A channel and what is wanted of it.
#[derive(Debug, Clone)]
pub(super) struct Subscribe {
    pub channel: String,
    /// `None` if the client said nothing about types.
    pub event_types: Option<Vec<String>>,
    /// For the channel `events` (ojs-events 6.2) only.
    pub filter: Option<Filter>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    pub event_types: Vec<String>,
    pub queues: Vec<String>,
    pub job_types: Vec<String>,
}

pub(super) enum Unsubscribe {
    Channel(String),
    Id(String),
}

/// The channel of whole envelopes.
pub(super) const ENVELOPES: &str = "events";

pub(super) fn parse(text: &str) -> Result<Request, ApiError> {
    json::check(text.as_bytes(), MAX_DEPTH)
        .map_err(|rejection| ApiError::from(rejection).with_code("invalid_request"))?;
    let value: Value = serde_json::from_str(text)
        .map_err(|error| bad(format!("The message is not JSON: {error}.")))?;
    let Value::Object(members) = value else { return Err(bad("The message must be an object.")) };
    match members.get("action").and_then(Value::as_str) {
        Some("subscribe") => subscribe(&members).map(Request::Subscribe),
        Some("unsubscribe") => unsubscribe(&members).map(Request::Unsubscribe),
        Some("resume") => {
            only(&members, &["action", "last_event_id"])?;
            Ok(Request::Resume { last_event_id: text_of(&members, "last_event_id")? })
        }
        _ => Err(bad("'action' must be subscribe, unsubscribe or resume.")),
    }
}

fn subscribe(members: &Map<String, Value>) -> Result<Subscribe, ApiError> {
    let channel = text_of(members, "channel")?;
    if channel == ENVELOPES {
        only(members, &["action", "channel", "filter"])?;
        let filter = Some(filter_of(members.get("filter"))?);
        return Ok(Subscribe { channel, event_types: None, filter });
    }
    only(members, &["action", "channel", "event_types"])?;
    let event_types = members.get("event_types").map(|list| names(list, "event_types"));
    let event_types = event_types.transpose()?;
    types::check(event_types.as_deref().unwrap_or_default(), types::OF_CHANNELS, "event_types")?;
    Ok(Subscribe { channel, event_types, filter: None })
}

fn filter_of(filter: Option<&Value>) -> Result<Filter, ApiError> {
    let members = match filter {
        None | Some(Value::Null) => return Ok(Filter::default()),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(bad("'filter' must be an object.")),
    };
    check_members(members, &["event_types", "queues", "job_types"], "'filter'")?;
    let list = |name: &str| members.get(name).map_or(Ok(Vec::new()), |list| names(list, name));
    let event_types = list("event_types")?;
    types::check(&event_types, types::OF_ENVELOPES, "event_types")?;
    Ok(Filter { event_types, queues: list("queues")?, job_types: list("job_types")? })
}

fn unsubscribe(members: &Map<String, Value>) -> Result<Unsubscribe, ApiError> {
    only(members, &["action", "channel", "subscription_id"])?;
    match (members.contains_key("channel"), members.contains_key("subscription_id")) {
        (true, false) => text_of(members, "channel").map(Unsubscribe::Channel),
        (false, true) => text_of(members, "subscription_id").map(Unsubscribe::Id),
        _ => Err(bad("Name either 'channel' or 'subscription_id'.")),
    }
}

fn only(members: &Map<String, Value>, known: &[&str]) -> Result<(), ApiError> {
    check_members(members, known, "this message")
}

fn check_members(members: &Map<String, Value>, known: &[&str], what: &str) -> Result<(), ApiError> {
    let unknown = members.keys().find(|key| !known.contains(&key.as_str()));
    unknown.map_or(Ok(()), |key| {
        let text = format!("'{}' is not a member of {what}.", excerpt(key));
        Err(bad(text).hint(format!("Its members are: {}.", known.join(", "))))
    })
}

fn text_of(members: &Map<String, Value>, name: &str) -> Result<String, ApiError> {
    let text = members.get(name).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| bad(format!("'{name}' must be a string.")))
}

fn names(list: &Value, field: &str) -> Result<Vec<String>, ApiError> {
    let list = list.as_array().filter(|list| list.len() <= MAX_NAMES);
    let name = |value: &Value| value.as_str().filter(|name| !name.is_empty()).map(str::to_owned);
    let names = list.and_then(|list| list.iter().map(name).collect::<Option<Vec<_>>>());
    names.ok_or_else(|| {
        bad(format!("'{field}' must be a list of names, at most {MAX_NAMES} of them."))
    })
}

fn bad(text: impl Into<String>) -> ApiError {
    ApiError::invalid_request(text)
}
